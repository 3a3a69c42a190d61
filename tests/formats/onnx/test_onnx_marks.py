import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from enginescope.core.errors import FormatError
from enginescope.formats.onnx.onnx_copies import GIVEN, GivenTensor, marked_onnx, split_model_at
from enginescope.formats.onnx.onnx_graph import FlowTensor, read_onnx_flow
from enginescope.records.tensor import DataType

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
W = np.arange(20, dtype=np.float32).reshape(4, 5) / 10


def info(name: str, *dims: int | str, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(dims))


@pytest.fixture
def model(tmp_path):
    """x·w → relu → a branch that takes it → y, nodes out of order."""
    then = helper.make_graph(
        [helper.make_node("Neg", ["r"], ["t"])], "then", [], [info("t", "n", 5)]
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["r"], ["e"])], "else", [], [info("e", "n", 5)]
    )
    nodes = [
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["x", "w"], ["h"], name="mm"),
        helper.make_node("If", ["yes"], ["b"], then_branch=then, else_branch=other, name="branch"),
        helper.make_node("Mul", ["b", "scale"], ["y"], name="mul"),
        helper.make_node("Add", ["w", "scale"], ["unused"], name="constant"),
    ]
    weights = [
        numpy_helper.from_array(W, "w"),
        numpy_helper.from_array(np.float32(2), "scale"),
        numpy_helper.from_array(np.bool_(1), "yes"),
    ]
    graph = helper.make_graph(nodes, "g", [info("x", "n", 4)], [info("y", "n", 5)], weights)
    made = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    path = tmp_path / "net.onnx"
    onnx.save(made, path)
    return path


def answers(path, **feeds):
    session = onnxruntime.InferenceSession(str(path))
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


def test_what_flows_is_in_order_and_says_what_depends_on_the_inputs(model) -> None:
    flow = read_onnx_flow(model)
    assert [one.operator for one in flow.nodes if one.varies] == ["MatMul", "Relu", "If", "Mul"]
    assert [one.name for one in flow.nodes if not one.varies] == ["constant"]
    by_operator = {one.operator: one for one in flow.nodes}
    assert (by_operator["If"].inputs, by_operator["Relu"].name) == (("yes", "r"), "node_of_r")
    assert by_operator["Relu"].own_name is None
    assert flow.tensor("h").dtype is DataType.FP32
    assert flow.tensor("h").shape == (None, 5)
    assert flow.tensor("h").bytes(unknown=3) == 60
    assert read_onnx_flow(model, {"x": (3, 4)}).tensor("h").shape == (3, 5)


def test_nodes_that_wait_for_each_other_are_refused(tmp_path) -> None:
    nodes = [helper.make_node("Relu", ["b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    graph = helper.make_graph(nodes, "g", [info("x", 1)], [info("b", 1)])
    path = tmp_path / "loop.onnx"
    onnx.save(helper.make_model(graph, ir_version=8), path)
    with pytest.raises(FormatError, match="wait for each other"):
        read_onnx_flow(path)


def test_marked_tensors_are_given_beside_the_outputs(model, tmp_path) -> None:
    before = model.read_bytes()
    copy = marked_onnx(
        model,
        {"h": FlowTensor(dtype=DataType.FP32), "r": FlowTensor(), "y": FlowTensor()},
        tmp_path / "copy",
    )
    found = answers(copy, x=X)
    assert list(found) == ["y", "h", "r"]
    np.testing.assert_allclose(found["h"], X @ W, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["y"], -2 * np.maximum(X @ W, 0), rtol=1e-5, atol=1e-6)
    assert model.read_bytes() == before


def test_nodes_that_are_cut_apart_read_what_they_are_given(model, tmp_path) -> None:
    given = {name: GivenTensor(dtype=DataType.FP32, rank=2) for name in ("x", "h", "r", "b", "y")}
    copy, asked = split_model_at(
        model, {one: given[one] for one in "hry"}, given, tmp_path / "copy"
    )
    assert set(asked) == {f"x{GIVEN}", f"h{GIVEN}", f"b{GIVEN}"}
    ones = np.ones((3, 5), np.float32)
    found = answers(copy, **{f"x{GIVEN}": X, f"h{GIVEN}": -ones, f"b{GIVEN}": 3 * ones})
    np.testing.assert_allclose(found["h"], X @ W, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found["r"], 0 * ones)
    np.testing.assert_array_equal(found["y"], 6 * ones)


def test_what_is_not_given_stays_connected(model, tmp_path) -> None:
    given = {"b": GivenTensor(dtype=DataType.FP32, rank=2)}
    copy, asked = split_model_at(model, {"r": given["b"]}, given, tmp_path / "copy")
    assert asked == ("x",)
    assert len(onnx.load(copy).graph.node) == 2
    np.testing.assert_allclose(answers(copy, x=X)["r"], np.maximum(X @ W, 0), rtol=1e-5, atol=1e-6)


def test_weights_in_other_files_are_brought_along_or_missed_by_name(model, tmp_path) -> None:
    apart = tmp_path / "apart"
    (apart / "weights").mkdir(parents=True)
    onnx.save(
        onnx.load(model),
        apart / "net.onnx",
        save_as_external_data=True,
        location="weights/net.data",
        size_threshold=64,
    )
    copy = marked_onnx(
        apart / "net.onnx",
        {"h": FlowTensor(dtype=DataType.FP32, shape=(None, 5))},
        tmp_path / "copy",
    )
    assert not (copy.parent / "weights" / "net.data").is_symlink()
    np.testing.assert_allclose(answers(copy, x=X)["h"], X @ W, rtol=1e-5, atol=1e-6)
    (apart / "weights" / "net.data").unlink()
    with pytest.raises(FormatError, match=r"weights/net.data is missing"):
        marked_onnx(apart / "net.onnx", {}, tmp_path / "other")
