"""Work of ONNX nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from enginescope.formats.onnx.onnx_graph import OnnxNode

Shapes = Mapping[str, tuple[int | None, ...]]

# operator -> place of the kernel or right matrix among its inputs
_CONVOLUTIONS = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3}
_PRODUCTS = {"MatMul", "MatMulInteger", "QLinearMatMul"}
#: Operators that may hold products which are not counted here.
_OPAQUE = frozenset(
    {"Attention", "DFT", "DeformConv", "Einsum", "GRU", "If", "LSTM", "Loop", "RNN", "Scan", "STFT"}
)


def node_macs(node: OnnxNode, shapes: Shapes) -> int | None:
    """Return a node's multiply-accumulates.

    Convolutions, transposed ones, Gemm and MatMul, and their quantized kinds; 0 for operators that
    multiply no matrices, ``None`` where it cannot be told.
    """
    if node.domain or node.op_type in _OPAQUE:
        return None
    result = _shape(node.outputs, 0, shapes)
    if node.op_type in _CONVOLUTIONS:
        kernel = _shape(node.inputs, _CONVOLUTIONS[node.op_type], shapes)
        return math.prod(result) * math.prod(kernel[1:]) if result and kernel else None
    if node.op_type == "ConvTranspose":
        source, kernel = _shape(node.inputs, 0, shapes), _shape(node.inputs, 1, shapes)
        return math.prod(source) * math.prod(kernel[1:]) if source and kernel else None
    if node.op_type in _PRODUCTS:
        left = _shape(node.inputs, 0, shapes)
        return math.prod(result) * left[-1] if result is not None and left else None
    if node.op_type == "Gemm":  # the right matrix is k × n or n × k
        right = _shape(node.inputs, 1, shapes)
        if not result or not right or not result[-1]:
            return None
        return math.prod(result) * (math.prod(right) // result[-1])
    return 0


def node_elements(node: OnnxNode, shapes: Shapes) -> int | None:
    """Return the number of elements that a node writes, or ``None``."""
    sizes = [_shape(node.outputs, at, shapes) for at, name in enumerate(node.outputs) if name]
    known = [math.prod(size) for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _shape(names: Sequence[str], at: int, shapes: Shapes) -> tuple[int, ...] | None:
    """A static shape, or ``None``."""
    shape = shapes.get(names[at]) if at < len(names) else None
    if shape is None:
        return None
    known = tuple(dim for dim in shape if dim is not None)
    return known if len(known) == len(shape) else None
