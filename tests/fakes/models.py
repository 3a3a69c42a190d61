"""Small ONNX models, each for one thing that TensorRT treats its own way."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

FLOAT = TensorProto.FLOAT
WEIGHTS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def value(name: str, dims: list[int | str], kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, dims)


def node(kind: str, inputs: str, output: str, name: str, **more: Any) -> Any:
    return helper.make_node(kind, inputs.split(), [output], name=name, **more)


def save(path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], **more: Any) -> Path:
    weights = [onnx.numpy_helper.from_array(one, name) for name, one in more.items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("fake.missing", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="tests")
    onnx.save(model, path)
    return path


def perceptron(path: Path) -> Path:
    nodes = [node("MatMul", "x w", "m", "product"), node("Relu", "m", "y", "activation")]
    return save(path, nodes, [value("x", ["n", 4])], [value("y", ["n", 3])], w=WEIGHTS)


def image(path: Path) -> Path:
    """Five channels, fixed, and doubled: for formats in vectors."""
    nodes = [node("Add", "x x", "y", "twice")]
    return save(path, nodes, [value("x", [1, 5, 2, 3])], [value("y", [1, 5, 2, 3])])


def non_zero(path: Path) -> Path:
    nodes = [node("NonZero", "x", "y", "where")]
    return save(path, nodes, [value("x", [6])], [value("y", [1, "k"], TensorProto.INT64)])


def expanded(path: Path) -> Path:
    nodes = [node("Expand", "x shape", "y", "expand")]
    inputs = [value("x", [1, 3]), value("shape", [2], TensorProto.INT64)]
    return save(path, nodes, inputs, [value("y", ["a", "b"])])


def missing_operator(path: Path) -> Path:
    """A node that no importer knows, after one that is known."""
    strange = node("Frobnicate", "m", "y", "strange", domain="fake.missing")
    nodes = [node("Relu", "x", "m", "known"), strange]
    return save(path, nodes, [value("x", [1, 4])], [value("y", [1, 4])])
