"""Small ONNX models for the backend, beside those of the stand-in's own tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.fakes.models import save, value

INT64, BF16, FP8 = TensorProto.INT64, TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN


def two_inputs(path: Path) -> Path:
    """Two inputs of a common, unknown batch."""
    nodes = [helper.make_node("Add", ["a", "b"], ["y"], name="sum")]
    return save(path, nodes, [value("a", ["n", 4]), value("b", ["n", 4])], [value("y", ["n", 4])])


def integers(path: Path) -> Path:
    """INT64 in and out."""
    nodes = [helper.make_node("Add", ["x", "x"], ["y"], name="twice")]
    return save(path, nodes, [value("x", [2, 3], INT64)], [value("y", [2, 3], INT64)])


def _cast(path: Path, kind: int, opset: int = 19) -> Path:
    node = helper.make_node("Cast", ["x"], ["y"], name="cast", to=TensorProto.FLOAT)
    graph = helper.make_graph([node], "graph", [value("x", [2, 3], kind)], [value("y", [2, 3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.save(model, path)
    return path


def bfloat16(path: Path) -> Path:
    """BF16 in, FP32 out."""
    return _cast(path, BF16)


def float8(path: Path) -> Path:
    """FP8 in, FP32 out."""
    return _cast(path, FP8)


def quantised(path: Path) -> Path:
    """Ranges of its own."""
    scale, zero = np.float32(0.1), np.int8(0)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], name="quantize"),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"], name="dequantize"),
    ]
    sides: list[Any] = [value("x", [1, 4])], [value("y", [1, 4])]
    return save(path, nodes, *sides, scale=np.array(scale), zero=np.array(zero))


def external(path: Path) -> Path:
    """Weights in a file of their own."""
    weights = np.arange(512, dtype=np.float32).reshape(4, 128)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    save(path, nodes, [value("x", [1, 4])], [value("y", [1, 128])], w=weights)
    onnx.save(
        onnx.load(path),
        path,
        save_as_external_data=True,
        location=f"{path.stem}.weights",
        size_threshold=0,
    )
    return path
