"""Compared plans as columns of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from enginescope.analysis.plan_comparison.difference_causes import cause_of
from enginescope.analysis.plan_comparison.paired_layers import ComparedLayers, LayersSide
from enginescope.analysis.plan_comparison.plans_overview import PlansOverview
from enginescope.records.tensor import Tensor

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
        "relation": [layer.relation.value for layer in layers],
        "evidence": [layer.evidence.value if layer.evidence else None for layer in layers],
        "score": [layer.score for layer in layers],
        "difference_ms": [layer.difference_ms for layer in layers],
        "share_pct": [layer.share_pct for layer in layers],
        "speedup": [layer.speedup for layer in layers],
        "cause": [cause_of(layer).value for layer in layers],
        "changes": [";".join(change.what for change in layer.changes) for layer in layers],
    }
    for label, sides in (
        ("a", [layer.a for layer in layers]),
        ("b", [layer.b for layer in layers]),
    ):
        for name, value in _SIDE:
            columns[f"{label}_{name}"] = [value(side) if side else None for side in sides]
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
    metrics = dict.fromkeys(latency.metric for plan in plans for latency in plan.latencies)
    for metric in metrics:
        figures = [one.latency(metric) for one in plans]
        columns[f"{metric}_mean_ms"] = [figure.mean_ms if figure else None for figure in figures]
        columns[f"{metric}_median_ms"] = [
            figure.median_ms if figure else None for figure in figures
        ]
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
