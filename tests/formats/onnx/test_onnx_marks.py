import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.helper import make_node

from enginescope.core.errors import FormatError
from enginescope.formats.onnx.onnx_copies import GIVEN, GivenTensor, marked_onnx, split_model_at
from enginescope.formats.onnx.onnx_graph import FlowTensor, read_onnx_flow
from enginescope.records.tensor import DataType
from tests.backends.onnxruntime.models import branch, info, write

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
W = np.arange(20, dtype=np.float32).reshape(4, 5) / 10


FP32 = FlowTensor(dtype=DataType.FP32)


@pytest.fixture
def model(tmp_path):
    """x·w → relu → a branch that takes it → y, nodes out of order."""
    then = branch("then", [make_node("Neg", ["r"], ["t"])], info("t", "n", 5))
    other = branch("else", [make_node("Identity", ["r"], ["e"])], info("e", "n", 5))
    nodes = [
        make_node("Relu", ["h"], ["r"]),
        make_node("MatMul", ["x", "w"], ["h"], name="mm"),
        make_node("If", ["yes"], ["b"], then_branch=then, else_branch=other, name="branch"),
        make_node("Mul", ["b", "scale"], ["y"], name="mul"),
        make_node("Add", ["w", "scale"], ["unused"], name="constant"),
    ]
    weights = {"w": W, "scale": np.float32(2), "yes": np.bool_(1)}
    return write(tmp_path / "net.onnx", nodes, [info("x", "n", 4)], [info("y", "n", 5)], **weights)


def answers(path, **feeds):
    session = onnxruntime.InferenceSession(str(path))
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


def test_what_flows_is_in_order_and_says_what_depends_on_the_inputs(model) -> None:
    flow = read_onnx_flow(model)
    assert [one.operator for one in flow.nodes if one.varies] == ["MatMul", "Relu", "If", "Mul"]
    assert [one.name for one in flow.nodes if not one.varies] == ["constant"]
    by_operator = {one.operator: one for one in flow.nodes}
    assert by_operator["If"].inputs == ("yes", "r")
    assert (by_operator["Relu"].name, by_operator["Relu"].own_name) == ("node_of_r", None)
    product = flow.tensor("h")
    assert (product.dtype, product.shape, product.bytes(unknown=3)) == (FP32.dtype, (None, 5), 60)
    assert read_onnx_flow(model, {"x": (3, 4)}).tensor("h").shape == (3, 5)


def test_nodes_that_wait_for_each_other_are_refused(tmp_path) -> None:
    nodes = [make_node("Relu", ["b"], ["a"]), make_node("Relu", ["a"], ["b"])]
    path = write(tmp_path / "loop.onnx", nodes, [info("x", 1)], [info("b", 1)])
    with pytest.raises(FormatError, match="wait for each other"):
        read_onnx_flow(path)


def test_marked_tensors_are_given_beside_the_outputs(model, tmp_path) -> None:
    before = model.read_bytes()
    marks = {"h": FP32, "r": FlowTensor(), "y": FlowTensor()}
    found = answers(marked_onnx(model, marks, tmp_path / "copy"), x=X)
    assert list(found) == ["y", "h", "r"]
    np.testing.assert_allclose(found["h"], X @ W, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["y"], -2 * np.maximum(X @ W, 0), rtol=1e-5, atol=1e-6)
    assert model.read_bytes() == before


def test_nodes_that_are_cut_apart_read_what_they_are_given(model, tmp_path) -> None:
    given = {name: GivenTensor(dtype=DataType.FP32, rank=2) for name in ("x", "h", "r", "b", "y")}
    marks = {one: given[one] for one in "hry"}
    copy, asked = split_model_at(model, marks, given, tmp_path / "copy")
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
    options = {"save_as_external_data": True, "size_threshold": 64}
    onnx.save(onnx.load(model), apart / "net.onnx", location="weights/net.data", **options)
    mark = FlowTensor(dtype=DataType.FP32, shape=(None, 5))
    copy = marked_onnx(apart / "net.onnx", {"h": mark}, tmp_path / "copy")
    assert not (copy.parent / "weights" / "net.data").is_symlink()
    np.testing.assert_allclose(answers(copy, x=X)["h"], X @ W, rtol=1e-5, atol=1e-6)
    (apart / "weights" / "net.data").unlink()
    with pytest.raises(FormatError, match=r"weights/net.data is missing"):
        marked_onnx(apart / "net.onnx", {}, tmp_path / "other")
