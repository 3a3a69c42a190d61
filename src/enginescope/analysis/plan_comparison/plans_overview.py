"""Several plans side by side: where the time of each goes.

Compared plans as columns of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from enginescope.analysis.plan_comparison.difference_causes import cause_of
from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers, LayersSide
from enginescope.analysis.plan_comparison.plan_summary import PlanShare, PlanSummary
from enginescope.core.record import Record
from enginescope.records.tensor import Tensor


class ShareAcross(Record, frozen=True, kw_only=True):
    """Layers that share a property, in each of several plans.

    Attributes:
        key: The property's value; ``None``: not known.
        layers: Of each plan.
        time_ms: Sum of their times in each plan; ``None``: that plan has no times.
    """

    key: str | None
    layers: tuple[int, ...]
    time_ms: tuple[float | None, ...]

    def difference_ms(self, at: int) -> float | None:
        """Return the time in the plan at a position less that in the first."""
        base_ms, other_ms = self.time_ms[0], self.time_ms[at]
        return other_ms - base_ms if base_ms is not None and other_ms is not None else None


class PlansOverview(Record, frozen=True, kw_only=True):
    """Plans side by side; the first is the base.

    Attributes:
        by_type, by_precision, by_output_precision: The most time in any plan first; precision is
            the type of a layer's first input, or output.
    """

    plans: tuple[PlanSummary, ...]
    by_type: tuple[ShareAcross, ...]
    by_precision: tuple[ShareAcross, ...]
    by_output_precision: tuple[ShareAcross, ...]

    def difference_ms(self, at: int) -> float | None:
        """Return the sum of the layers of the plan at a position less that of the first."""
        base_ms, other_ms = self.plans[0].sum_ms, self.plans[at].sum_ms
        return other_ms - base_ms if base_ms is not None and other_ms is not None else None

    def speedup(self, at: int) -> float | None:
        """Return the first plan's time ÷ that of the plan at a position, each per item.

        Per batch where a batch is not known.
        """
        base, other = self.plans[0], self.plans[at]
        pair = (base.sum_per_item_ms, other.sum_per_item_ms)
        if None in pair:
            pair = (base.sum_ms, other.sum_ms)
        return pair[0] / pair[1] if pair[0] is not None and pair[1] else None


def plans_overview(plans: Sequence[PlanSummary]) -> PlansOverview:
    """Return `plans` side by side, in the order given."""
    return PlansOverview(
        plans=tuple(plans),
        by_type=_across(plans, lambda one: one.by_type),
        by_precision=_across(plans, lambda one: one.by_precision),
        by_output_precision=_across(plans, lambda one: one.by_output_precision),
    )


def _across(
    plans: Sequence[PlanSummary], shares: Callable[[PlanSummary], tuple[PlanShare, ...]]
) -> tuple[ShareAcross, ...]:
    tables = [{share.key: share for share in shares(plan)} for plan in plans]
    found = [
        ShareAcross(
            key=key,
            layers=tuple(table[key].layers if key in table else 0 for table in tables),
            time_ms=tuple(
                _time(one.get(key), is_timed=plan.sum_ms is not None)
                for one, plan in zip(tables, plans, strict=True)
            ),
        )
        for key in dict.fromkeys(key for table in tables for key in table)
    ]
    return tuple(
        sorted(
            found,
            key=lambda one: (
                -max(ms or 0.0 for ms in one.time_ms),
                -max(one.layers),
                one.key or "",
            ),
        )
    )


def _time(share: PlanShare | None, *, is_timed: bool) -> float | None:
    """No layers take no time, where the plan has times at all."""
    if share is None:
        return 0.0 if is_timed else None
    return share.time_ms


_SIDE: tuple[tuple[str, Callable[[LayersSide], Any]], ...] = (
    ("layers", lambda one: ";".join(map(str, one.layers))),
    ("name", lambda one: one.name),
    ("type", lambda one: one.type),
    ("ms", lambda one: one.time_ms),
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
