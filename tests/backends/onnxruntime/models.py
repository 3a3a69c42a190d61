"""Tiny ONNX models for tests. Both versions are fixed: onnx writes newer ones than are read."""

from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node

FLOAT = TensorProto.FLOAT


def write(path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], **more: Any) -> Path:
    """Write a model.

    Args:
        path: Of the model.
        nodes: In the order of the graph.
        inputs: As `info` makes them.
        outputs: As `info` makes them.
        more: ``weights`` (protobuf messages), ``opset``, ``ir``, ``domains`` (name -> version),
            ``functions``; an array of any other name is a weight too.
    """
    opsets = {"": more.pop("opset", 17), **more.pop("domains", {})}
    imports = [helper.make_opsetid(name, version) for name, version in opsets.items()]
    fields = {"ir_version": more.pop("ir", 8), "functions": more.pop("functions", [])}
    weights = list(more.pop("weights", []))
    weights += [numpy_helper.from_array(np.asarray(value), name) for name, value in more.items()]
    graph = helper.make_graph(nodes, "test", inputs, outputs, weights)
    path.write_bytes(helper.make_model(graph, opset_imports=imports, **fields).SerializeToString())
    return path


def damaged(data: bytes) -> bytes:
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]


def info(name: str, *shape: int | str | None, kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, list(shape))


def branch(name: str, nodes: list[Any], output: Any, *weights: Any) -> Any:
    """Return the graph of a branch of an If node: it has no inputs."""
    return helper.make_graph(nodes, name, [], [output], list(weights))


def lookup(path: Path, rows: int = 10) -> Path:
    """ids[batch,n] -> rows of a table: fails on ids out of range."""
    node = make_node("Gather", ["table", "ids"], ["y"], name="lookup")
    ends = [info("ids", "batch", "n", kind=TensorProto.INT64)], [info("y", "batch", "n", 4)]
    return write(path, [node], *ends, table=np.ones((rows, 4), np.float32))


def mirrored(path: Path) -> Path:
    """x[1,n] -> x with its second sample before it: fails where n is 1."""
    node = make_node("Pad", ["x", "pads"], ["y"], name="mirrored", mode="reflect")
    return write(path, [node], [info("x", 1, "n")], [info("y", 1, "m")], pads=[0, 1, 0, 0])


def nonzero(path: Path) -> Path:
    node = make_node("NonZero", ["x"], ["y"], name="nonzero")
    return write(path, [node], [info("x", 16)], [info("y", 1, "count", kind=TensorProto.INT64)])


def strings(path: Path) -> Path:
    node = make_node("Identity", ["x"], ["y"], name="echo")
    x, y = (info(name, 3, kind=TensorProto.STRING) for name in "xy")
    return write(path, [node], [x], [y])


def sequence(path: Path) -> Path:
    node = make_node("SplitToSequence", ["x"], ["y"], name="split")
    output = helper.make_tensor_sequence_value_info("y", FLOAT, None)
    return write(path, [node], [info("x", 3, 4)], [output])


def relu(path: Path, kind: int = FLOAT, x: str = "x", **more: Any) -> Path:
    node = make_node("Relu", [x], ["y"], name="relu")
    return write(path, [node], [info(x, 1, 8, kind=kind)], [info("y", 1, 8, kind=kind)], **more)


def bfloat16(path: Path) -> Path:
    node = make_node("Cast", ["x"], ["y"], name="cast", to=FLOAT)
    return write(path, [node], [info("x", 1, 8, kind=TensorProto.BFLOAT16)], [info("y", 1, 8)])
