from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node

from enginescope.formats.lenient_json import Document
from enginescope.formats.onnxruntime.ort_profile import executed_plan
from enginescope.records.plan.plan import EXECUTED
from enginescope.records.tensor import DataType
from tests.backends.onnxruntime.models import branch, info, write


def event(name: str, index: str, inputs: list[list[int]], outputs: list[list[int]]) -> Any:
    shapes = {"input_type_shape": inputs, "output_type_shape": outputs}
    typed = {key: [{"float": one} for one in value] for key, value in shapes.items()}
    return {"cat": "Node", "name": f"{name}_kernel_time", "args": {"node_index": index, **typed}}


def model(path: Path) -> Path:
    nodes = [
        make_node("MatMul", ["x", "w"], ["1"], name="m"),
        make_node("Clip", ["1", "", "1"], ["2"], name="c"),
        make_node("Relu", ["2"], ["3"], name="same"),
        make_node("Neg", ["3"], ["y"], name="same"),
    ]
    w = np.ones((4, 2), np.float32)
    return write(path, nodes, [info("x", "n", 4)], [info("y", "n", 2)], w=w)


def test_nodes_are_layers_with_the_shapes_of_the_run(tmp_path) -> None:
    events = [
        event("m", "0", [[3, 4]], [[3, 2]]),  # the weights were packed anew
        event("c", "1", [[3, 2], [3, 2]], [[3, 2]]),
        event("same", "2", [[3, 2]], [[3, 2]]),
        event("same", "3", [[3, 2]], [[3, 2]]),
    ]
    document = Document(value=events, source="p.json")
    plan = executed_plan(model(tmp_path / "m.onnx"), document, "net", str(tmp_path / "m.onnx"))
    assert (plan.name, plan.source_schema) == ("net", EXECUTED)
    kinds = [("m", "MatMul"), ("c", "Clip"), ("same", "Relu"), ("same", "Neg")]
    assert [(one.name, one.type) for one in plan.layers] == kinds
    product, clip, relu, _ = plan.layers
    (x,) = product.inputs
    assert (x.name, x.shape, x.dtype) == ("x", (3, 4), DataType.FP32)
    (weights,) = product.weights
    assert (weights.role, weights.count, weights.nbytes) == ("w", 8, 32)
    assert [one.name for one in clip.inputs] == ["1", "1"]
    assert relu.inputs[0].shape is None  # two nodes have its name
    assert [(one.tensor.name, one.mode) for one in plan.io] == [("x", "input"), ("y", "output")]
    assert plan.inputs[0].tensor.shape == (3, 4)


def ran(name: str, kind: str, begin_us: float, duration_us: float = 1.0) -> Any:
    arguments = {"op_name": kind, "node_index": name.rpartition("_")[2]}
    stamps = {"ts": begin_us, "dur": duration_us}
    return {"cat": "Node", "name": f"{name}_kernel_time", **stamps, "args": arguments}


def unnamed(path: Path) -> Path:
    body = branch("body", [make_node("Relu", ["2"], ["inner"])], info("inner", 4))
    nodes = [
        make_node("Relu", ["x"], ["1"]),
        make_node("Neg", ["1"], ["2"], name="Relu_7"),
        make_node("If", ["flag"], ["3"], then_branch=body, else_branch=body),
        make_node("Relu", ["3"], ["y"]),
    ]
    return write(path, nodes, [info("x", 4)], [info("y", 4)], flag=[True])


UNKNOWN = ["node_of_1", "Relu_7", "node_of_3", "node_of_y"]
IN_ORDER = [
    ran("Relu_7", "Relu", 10.0),
    ran("Relu_7", "Neg", 12.0),
    ran("Relu_0", "Relu", 16.0),  # in the branch, so it ends before the node that holds it
    ran("If_9", "If", 15.0, 4.0),
    ran("Relu_3", "Relu", 20.0),
]


@pytest.mark.parametrize(
    ("events", "names"),
    [
        (IN_ORDER, ["Relu_7", "Relu_7", "If_9", "Relu_3"]),
        # another order, or a node that the graph has not: no event is certainly a node's
        ([IN_ORDER[1], IN_ORDER[0], *IN_ORDER[2:]], UNKNOWN),
        (IN_ORDER[1:], UNKNOWN),
    ],
)
def test_a_node_without_a_name_has_that_of_the_profile(tmp_path, events, names) -> None:
    path = unnamed(tmp_path / "m.onnx")
    later = {"cat": "Session", "name": "model_run", "ts": 9.0, "dur": 15.0}
    document = Document(value=[*events, later, *reversed(events), later], source="p.json")
    plan = executed_plan(path, document, "net", str(path))
    assert [one.name for one in plan.layers] == names
    owners = [one.onnx_nodes for one in plan.layers]
    assert owners[0] == ("node_of_1",)  # not Relu_7, which is another node's name in the model
