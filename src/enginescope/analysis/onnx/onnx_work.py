"""Work of layers that say nothing of theirs, from the ONNX nodes they hold."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from enginescope.analysis.onnx.onnx_map import OnnxMap
from enginescope.analysis.onnx.onnx_node_work import node_macs
from enginescope.analysis.roofline.layer_work import MOVING_TYPES, LayerWork
from enginescope.formats.onnx.onnx_graph import OnnxGraph
from enginescope.records.plan.plan import Plan


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
