"""Compared plans as columns of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from enginescope.analysis.difference_causes import cause_of
from enginescope.analysis.paired_layers import ComparedLayers, LayersSide
from enginescope.analysis.plans_overview import PlansOverview
from enginescope.model.tensor import Tensor

_SIDE: tuple[tuple[str, Callable[[LayersSide], Any]], ...] = (
    ("layers", lambda one: ";".join(map(str, one.layers))),
    ("name", lambda one: one.name),
    ("type", lambda one: one.type),
    ("ms", lambda one: one.mean_ms),
    ("precision_in", lambda one: one.precision_in),
    ("precision_out", lambda one: one.precision_out),
    ("tactic", lambda one: one.tactic),
    ("inputs", lambda one: "; ".join(map(_tensor, one.inputs))),
    ("outputs", lambda one: "; ".join(map(_tensor, one.outputs))),
    ("onnx_nodes", lambda one: ";".join(one.onnx_nodes)),
)


def layer_columns(layers: Sequence[ComparedLayers]) -> dict[str, list[Any]]:
    """Return compared layers as columns of equal length; ``None`` is a missing value."""
    columns: dict[str, list[Any]] = {
        "relation": [one.relation.value for one in layers],
        "evidence": [one.evidence.value if one.evidence else None for one in layers],
        "score": [one.score for one in layers],
        "difference_ms": [one.difference_ms for one in layers],
        "share_pct": [one.share_pct for one in layers],
        "speedup": [one.speedup for one in layers],
        "cause": [cause_of(one).value for one in layers],
        "changes": [";".join(change.what for change in one.changes) for one in layers],
    }
    for label, sides in (("a", [one.a for one in layers]), ("b", [one.b for one in layers])):
        for name, value in _SIDE:
            columns[f"{label}_{name}"] = [value(one) if one else None for one in sides]
    return columns


def plan_columns(overview: PlansOverview) -> dict[str, list[Any]]:
    """Return plans as columns of equal length, one row each."""
    plans = overview.plans
    columns: dict[str, list[Any]] = {
        name: [getattr(one, name) for one in plans]
        for name in ("label", "name", "gpu", "tensorrt", "batch", "sum_ms", "sum_per_item_ms")
    }
    columns["difference_ms"] = [overview.difference_ms(at) for at in range(len(plans))]
    columns["speedup"] = [overview.speedup(at) for at in range(len(plans))]
    for name in ("layers", "active_layers", "weights_bytes", "activation_bytes"):
        columns[name] = [getattr(one.totals, name) for one in plans]
    columns["throughput_items_per_s"] = [one.items_per_s for one in plans]
    metrics = dict.fromkeys(one.metric for plan in plans for one in plan.latencies)
    for metric in metrics:
        figures = [one.latency(metric) for one in plans]
        columns[f"{metric}_mean_ms"] = [one.mean_ms if one else None for one in figures]
        columns[f"{metric}_median_ms"] = [one.median_ms if one else None for one in figures]
    return columns


def _tensor(tensor: Tensor) -> str:
    shape = "×".join("?" if one is None else str(one) for one in tensor.shape or ())
    parts = (
        tensor.name,
        shape or None,
        tensor.dtype.value if tensor.dtype else None,
        tensor.layout.name if tensor.layout else None,
    )
    return " ".join(part for part in parts if part)
