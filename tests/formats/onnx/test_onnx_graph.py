from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from enginescope.core.errors import FormatError
from enginescope.formats.onnx.onnx_graph import annotated_onnx, read_onnx_graph


def info(name: str, *dims: int | str, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(dims))


def saved(path: Path, nodes: list, inputs: list, outputs: list, weights: tuple = ()) -> Path:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=opsets), str(path))
    return path


@pytest.fixture
def model(tmp_path) -> Path:
    weight = numpy_helper.from_array(np.zeros((4, 5), np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="mm"),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Odd", ["r"], ["y"], name="odd", domain="own"),
    ]
    return saved(tmp_path / "m.onnx", nodes, [info("x", "batch", 4)], [info("y", "n")], (weight,))


def test_nodes_and_shapes(model) -> None:
    graph = read_onnx_graph(model)
    assert graph.name == "g"
    assert [one.name for one in graph.nodes] == ["mm", "node_of_r", "odd"]
    assert [one.own_name for one in graph.nodes] == ["mm", None, "odd"]
    assert [(one.op_type, one.domain) for one in graph.nodes][2] == ("Odd", "own")
    assert (graph.nodes[0].inputs, graph.nodes[0].outputs) == (("x", "w"), ("h",))
    assert graph.shapes == {
        "x": (None, 4),
        "w": (4, 5),
        "h": (None, 5),
        "r": (None, 5),
        "y": (None,),
    }


def test_shapes_an_engine_was_built_for(model, tmp_path) -> None:
    graph = read_onnx_graph(model, {"x": (3, None), "other": (1,)})
    assert (graph.shapes["x"], graph.shapes["r"]) == ((3, 4), (3, 5))
    assert read_onnx_graph(model, {"x": (3,)}).shapes["x"] == (None, 4)
    # Exporters often store the shapes in between, with dynamic dimensions by name.
    proto = onnx.load(str(model))
    proto.graph.value_info.append(info("h", "batch", 5))
    onnx.save(proto, str(tmp_path / "stored.onnx"))
    assert read_onnx_graph(tmp_path / "stored.onnx", {"x": (3, 4)}).shapes["h"] == (3, 5)


def test_branches(tmp_path) -> None:
    def branch(name: str) -> onnx.GraphProto:
        node = helper.make_node("Neg", ["x"], [f"{name}/y"], name=name)
        return helper.make_graph([node], name, [], [info(f"{name}/y", 2)])

    nodes = [
        helper.make_node(
            "If", ["c"], ["y"], name="if", then_branch=branch("t"), else_branch=branch("e")
        ),
        helper.make_node("Abs", ["y"], ["z"], name="abs"),
    ]
    inputs = [info("c", kind=TensorProto.BOOL), info("x", 2)]
    graph = read_onnx_graph(saved(tmp_path / "if.onnx", nodes, inputs, [info("z", 2)]))
    found = {(one.name, one.depth) for one in graph.nodes}
    assert found == {("if", 0), ("t", 1), ("e", 1), ("abs", 0)}
    assert [one.index for one in graph.nodes] == [0, 1, 2, 3]
    assert graph.shapes["t/y"] == (2,)


def test_a_model_whose_shapes_contradict_each_other(tmp_path) -> None:
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4, 5], [0.0] * 20)
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")
    path = saved(tmp_path / "bad.onnx", [node], [info("x", 2, 3)], [info("y", 2, 5)], (weight,))
    assert read_onnx_graph(path).shapes["w"] == (4, 5)


def test_inference_that_fails_leaves_the_models_own_shapes(model, monkeypatch) -> None:
    def fail(*args, **kwargs) -> None:
        raise onnx.shape_inference.InferenceError("no")

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", fail)
    graph = read_onnx_graph(model)
    assert (graph.shapes["x"], "h" in graph.shapes) == ((None, 4), False)


def test_notes_for_viewers(tmp_path, model, monkeypatch) -> None:
    once = tmp_path / "once.onnx"
    once.write_bytes(annotated_onnx(model, {1: {"a": "1", "b": "2"}}))
    proto = onnx.load_from_string(annotated_onnx(once, {1: {"b": "3"}, 2: {"c": "4"}}))
    notes = [{one.key: one.value for one in node.metadata_props} for node in proto.graph.node]
    assert notes == [{}, {"a": "1", "b": "3"}, {"c": "4"}]
    assert proto.ir_version >= 10
    assert (proto.opset_import[0].version, proto.graph.initializer[0].name) == (17, "w")

    class Old:
        def __init__(self) -> None:
            self.attribute = ()

    monkeypatch.setattr("enginescope.formats.onnx.onnx_graph._walk", lambda *_: iter([(Old(), 0)]))
    with pytest.raises(FormatError, match="cannot store node metadata"):
        annotated_onnx(model, {})


def test_weights_in_another_file_are_not_needed(tmp_path, model) -> None:
    proto = onnx.load(str(model))
    outside = tmp_path / "outside.onnx"
    onnx.save(proto, str(outside), save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").unlink()
    assert read_onnx_graph(outside).shapes["w"] == (4, 5)
    assert b"w.bin" in annotated_onnx(outside, {})


def test_what_is_no_model(tmp_path) -> None:
    path = tmp_path / "a.onnx"
    with pytest.raises(FormatError, match="No such file"):
        read_onnx_graph(path)
    path.write_bytes(b"\x0a\xff\xff")
    with pytest.raises(FormatError, match="it is not an ONNX model"):
        read_onnx_graph(path)
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="it has no graph"):
        read_onnx_graph(path)
