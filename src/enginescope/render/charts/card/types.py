"""Sums over layers: time by type, and shares of precisions."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_groups import RollupPart, group_layers, precision_rollup
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.render.base.palette import precision_color
from enginescope.render.charts.bars import X_TITLE, bar_chart, group_color
from enginescope.render.charts.tip_table import NOT_KNOWN
from enginescope.render.html.images import Chart, Spec

_MOST_TYPES = 20
_SUMS = {"layers": "layers#", "ms": "time, ms#", "share": "share of the sum, %#"}


def time_per_type(view: PlanView) -> Chart | None:
    """Time of each type, split by precision; numbers of layers where there are no times."""
    pairs = group_layers(view.facts, lambda row: (row.layer.type, row.precision or NOT_KNOWN))
    if not pairs:
        return None
    timed = any(pair.time_ms for pair in pairs)
    types = group_layers(view.facts, lambda row: row.layer.type)
    order = {one.key: rank for rank, one in enumerate(types)}
    shown = [pair for pair in pairs if order[pair.key[0]] < _MOST_TYPES]
    shown.sort(key=lambda one: (order[one.key[0]], -(one.time_ms or 0.0), -one.layers))
    rows: list[Spec] = [
        {
            "row": f"{order[one.key[0]]:03}",
            "label": one.key[0],
            "type": one.key[0],
            "group": one.key[1],
            "layers": one.layers,
            "ms": one.time_ms,
            "share": one.share_pct,
            "value": one.time_ms if timed else one.layers,
        }
        for one in shown
    ]
    left = len(types) - _MOST_TYPES
    return bar_chart(
        rows,
        X_TITLE if timed else "layers",
        {"type": "type", "group": "precision", **_SUMS},
        group_color("precision", [pair.key[1] for pair in pairs], precision_color),
        key="latency-per-type",
        title=f"{'Time' if timed else 'Layers'} by type, split by precision",
        subtitle=(f"The {_MOST_TYPES} types with the most time; {left:,} more are not shown",)
        if left > 0
        else (),
    )


_TEXTS: dict[str, Callable[[float], str]] = {
    "layers": lambda value: counted(round(value), "layer"),
    "time": format_ms,
    "MACs": lambda value: f"{format_significant(value / 1e9, 4)} billion MACs",
    "activations": lambda value: format_bytes(round(value)),
    "weights": lambda value: format_bytes(round(value)),
}


def rollup(view: PlanView) -> Chart | None:
    """What part of layers, time, work and bytes each precision has."""
    parts = precision_rollup(view.facts)
    if not any(part.precision != NOT_KNOWN for part in parts):
        return None
    measures = list(dict.fromkeys(part.measure for part in parts))
    rows: list[Spec] = [
        {
            "row": f"{measures.index(part.measure)}",
            "label": part.measure,
            "group": part.precision,
            "value": part.share_pct,
            "amount": _TEXTS[part.measure](part.value),
        }
        for part in parts
    ]
    tips = {"label": "of", "group": "precision", "value": "share, %#", "amount": "amount"}
    color = group_color("precision", [part.precision for part in parts], precision_color)
    return bar_chart(
        rows,
        "share, %",
        tips,
        color,
        key="precision-rollup",
        title=f"Precisions: {_most(parts, measures)}",
        subtitle=("Of the layers' first inputs; each bar is all of what is known",),
        is_whole=True,
    )


def _most(parts: tuple[RollupPart, ...], measures: list[str]) -> str:
    measure = "time" if "time" in measures else "layers"
    first = next(part for part in parts if part.measure == measure)
    share = format_significant(first.share_pct)
    return f"{first.precision} has {share} % of the {measure}"
