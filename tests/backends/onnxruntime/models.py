"""Tiny ONNX models for tests. Both versions are fixed: onnx writes newer ones than are read."""

from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def write(path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], **more: Any) -> Path:
    graph = helper.make_graph(nodes, "test", inputs, outputs, more.pop("weights", []))
    opset = [helper.make_opsetid("", more.pop("opset", 17))]
    model = helper.make_model(graph, ir_version=more.pop("ir", 8), opset_imports=opset)
    path.write_bytes(model.SerializeToString())
    return path


def damaged(data: bytes) -> bytes:
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]


def info(name: str, kind: int, *shape: int | str) -> Any:
    return helper.make_tensor_value_info(name, kind, list(shape))


def lookup(path: Path, rows: int = 10) -> Path:
    """ids[batch,n] -> rows of a table: fails on ids out of range."""
    table = numpy_helper.from_array(np.ones((rows, 4), np.float32), "table")
    node = helper.make_node("Gather", ["table", "ids"], ["y"], name="lookup")
    ends = [info("ids", TensorProto.INT64, "batch", "n")], [info("y", FLOAT, "batch", "n", 4)]
    return write(path, [node], *ends, weights=[table])


def mirrored(path: Path) -> Path:
    """x[1,n] -> x with its second sample before it: fails where n is 1."""
    pads = numpy_helper.from_array(np.array([0, 1, 0, 0], np.int64), "pads")
    node = helper.make_node("Pad", ["x", "pads"], ["y"], name="mirrored", mode="reflect")
    return write(
        path, [node], [info("x", FLOAT, 1, "n")], [info("y", FLOAT, 1, "m")], weights=[pads]
    )


def nonzero(path: Path) -> Path:
    node = helper.make_node("NonZero", ["x"], ["y"], name="nonzero")
    y = info("y", TensorProto.INT64, 1, "count")
    return write(path, [node], [info("x", FLOAT, 16)], [y])


def strings(path: Path) -> Path:
    node = helper.make_node("Identity", ["x"], ["y"], name="echo")
    x, y = (info(name, TensorProto.STRING, 3) for name in "xy")
    return write(path, [node], [x], [y])


def sequence(path: Path) -> Path:
    node = helper.make_node("SplitToSequence", ["x"], ["y"], name="split")
    output = helper.make_tensor_sequence_value_info("y", FLOAT, None)
    return write(path, [node], [info("x", FLOAT, 3, 4)], [output])


def relu(path: Path, kind: int = FLOAT, x: str = "x", **more: Any) -> Path:
    node = helper.make_node("Relu", [x], ["y"], name="relu")
    return write(path, [node], [info(x, kind, 1, 8)], [info("y", kind, 1, 8)], **more)


def bfloat16(path: Path) -> Path:
    node = helper.make_node("Cast", ["x"], ["y"], name="cast", to=FLOAT)
    return write(path, [node], [info("x", TensorProto.BFLOAT16, 1, 8)], [info("y", FLOAT, 1, 8)])
