"""Work of ONNX nodes, and of layers that say nothing of theirs, from the nodes they hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from enginescope.analysis.layer_work import MOVING_TYPES, LayerWork
from enginescope.formats.onnx_graph import OnnxGraph, OnnxNode
from enginescope.model.plan import Plan

if TYPE_CHECKING:
    from enginescope.analysis.onnx_map import OnnxMap

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

    Convolutions, transposed ones, Gemm and MatMul, and their quantised kinds; 0 for operators that
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
    known = [math.prod(one) for one in sizes if one is not None]
    return sum(known) if len(known) == len(sizes) else None


def with_onnx_work(
    plan: Plan, works: Sequence[LayerWork], graph: OnnxGraph, links: OnnxMap
) -> tuple[LayerWork, ...]:
    """Return `works` with the multiply-accumulates of layers whose plan does not tell them.

    A node's work goes to the layers that hold it, copies left out: in equal parts if there are
    several, which is then marked; to none of these if for one of them the plan tells its work,
    which contains the node's. 0 where all nodes are known to multiply no matrices.
    """
    shares: dict[int, list[tuple[int, int]]] = {}
    idle = {
        at for at, layer in enumerate(plan.layers) if layer.is_inert or layer.type in MOVING_TYPES
    }
    closed = {at for at, work in enumerate(works) if work.macs is not None}
    for cost in links.costs:
        macs = node_macs(graph.nodes[cost.node], graph.shapes)
        holders = [at for at in cost.positions if at not in idle]
        if macs is None:
            closed |= set(holders)
            continue
        if any(works[at].macs is not None for at in holders):
            continue
        for number, at in enumerate(holders):
            part = macs // len(holders) + (number < macs % len(holders))
            shares.setdefault(at, []).append((part, len(holders) if macs else 1))
    return tuple(
        work if at in closed else _with_parts(work, shares.get(at, []))
        for at, work in enumerate(works)
    )


def _with_parts(work: LayerWork, parts: Sequence[tuple[int, int]]) -> LayerWork:
    if not parts:
        return work
    return msgspec.structs.replace(
        work,
        macs=sum(part for part, _ in parts),
        source="onnx",
        is_shared=any(holders > 1 for _, holders in parts),
    )


def _shape(names: Sequence[str], at: int, shapes: Shapes) -> tuple[int, ...] | None:
    """A static shape, or ``None``."""
    shape = shapes.get(names[at]) if at < len(names) else None
    if shape is None:
        return None
    known = tuple(dim for dim in shape if dim is not None)
    return known if len(known) == len(shape) else None
