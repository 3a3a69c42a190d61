"""The coarsest precision that an ONNX model computes in, by its nodes and weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.optional import require

#: Operators that quantise, or compute on what is quantised.
_QUANTISED = frozenset(
    {
        "QuantizeLinear",
        "DequantizeLinear",
        "DynamicQuantizeLinear",
        "QLinearConv",
        "QLinearMatMul",
        "QLinearAdd",
        "QGemm",
        "ConvInteger",
        "MatMulInteger",
        "MatMulNBits",
        "DynamicQuantizeMatMul",
        "QAttention",
    }
)
_FOUR_BITS = frozenset({"FLOAT4E2M1"})
_FP8 = frozenset({"FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"})


def onnx_precision(path: Path) -> str:
    """Return ``fp32``, ``fp16``, ``bf16``, ``int8``, ``fp8`` or ``fp4``; weights elsewhere unread.

    Raises:
        FormatError: It cannot be read, or is no ONNX model.
    """
    onnx = require("onnx", purpose=f"reading {path.name}", install="enginescope")
    try:
        model = onnx.load(str(path), load_external_data=False)
    except OSError as error:
        raise FormatError(str(path), why=error.strerror or str(error)) from None
    except Exception as error:  # noqa: BLE001 - each protobuf runtime has a DecodeError of its own
        raise FormatError(str(path), why=f"it is no ONNX model ({error})") from None
    nodes = [
        node
        for own in (model.graph.node, *(function.node for function in model.functions))
        for node in _all_nodes(onnx, own)
    ]
    operators = {one.op_type for one in nodes}
    numbers = {one.data_type for graph in _graphs(onnx, model.graph) for one in graph.initializer}
    numbers |= {number for node in nodes for number in _types_of(onnx, node)}
    types = {onnx.TensorProto.DataType.Name(one) for one in numbers}
    if types & _FOUR_BITS:
        return "fp4"
    if operators & _QUANTISED:
        return "fp8" if types & _FP8 and not types & {"INT8", "UINT8"} else "int8"
    return "bf16" if "BFLOAT16" in types else "fp16" if "FLOAT16" in types else "fp32"


def _types_of(onnx: Any, node: Any) -> Iterator[int]:
    """Yield the types that a node holds a constant of, or casts to."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.TENSOR:
            yield attribute.t.data_type
        elif node.op_type == "Cast" and attribute.name == "to":
            yield attribute.i


def _graphs(onnx: Any, graph: Any) -> Iterator[Any]:
    yield graph
    for node in _all_nodes(onnx, graph.node):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield attribute.g


def _all_nodes(onnx: Any, nodes: Iterable[Any]) -> Iterator[Any]:
    """Yield the nodes, and those of the graphs that they hold."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _all_nodes(onnx, attribute.g.node)
