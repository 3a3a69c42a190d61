"""What each type of layer has of the plan: number, time, precisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_groups import LayerGroup, group_layers
from enginescope.core.units import format_significant
from enginescope.render.base.palette import OTHER, precision_color, type_color
from enginescope.render.charts.bars import bars, group_color, height_of
from enginescope.render.charts.card.wording import NOT_KNOWN, counted, figure, table_of
from enginescope.render.html.spec import Chart, Spec

_MOST_TYPES = 20
_TIPS = {"type": "type", "layers": "layers#", "ms": "mean, ms#", "share": "share of the sum, %#"}


def count_per_type(view: PlanView) -> Chart | None:
    """How many layers of each type do work."""
    groups = sorted(_by_type(view), key=lambda one: -one.layers)
    if not groups:
        return None
    first = groups[0]
    return _of_types(
        groups,
        key="count-per-type",
        title=f"Layers by type: {first.layers:,} of {len(view.facts):,} are {first.key}",
        x_title="layers",
        value=lambda one: one.layers,
    )


def time_per_type(view: PlanView) -> Chart | None:
    """Time summed by type."""
    groups = [one for one in _by_type(view) if one.mean_ms]
    if not groups:
        return None
    first = groups[0]
    return _of_types(
        groups,
        key="latency-per-type",
        title=f"Time by type: {first.key} takes {format_significant(first.share_pct or 0)} %",
        x_title="mean time per iteration, ms",
        value=lambda one: one.mean_ms or 0.0,
    )


def precision_per_type(view: PlanView) -> Chart | None:
    """Time of each type, split by precision; numbers of layers where there are no times."""
    pairs = group_layers(view.facts, lambda row: (row.layer.type, row.precision or NOT_KNOWN))
    if not pairs or all(pair.key[1] == NOT_KNOWN for pair in pairs):
        return None
    timed = any(pair.mean_ms for pair in pairs)
    order = {one.key: rank for rank, one in enumerate(_by_type(view))}
    shown = [pair for pair in pairs if order[pair.key[0]] < _MOST_TYPES]
    shown.sort(key=lambda one: (order[one.key[0]], -(one.mean_ms or 0.0), -one.layers))
    rows: list[Spec] = [
        {
            **_tips(one, one.key[0]),
            "row": f"{order[one.key[0]]:03}",
            "label": one.key[0],
            "group": one.key[1],
            "value": (one.mean_ms or 0.0) if timed else one.layers,
        }
        for one in shown
    ]
    color = group_color("precision", _precisions(pairs), precision_color)
    x_title = "mean time per iteration, ms" if timed else "layers"
    return Chart(
        key="precision-per-type",
        title=f"{'Time' if timed else 'Layers'} by type, split by precision",
        subtitle=_left_out(len(order)),
        spec=bars(rows, x_title, {"group": "precision", **_TIPS}, color),
        table=table_of(
            ("Type", "Precision", "Layers", "Mean, ms", "Share, %"),
            [(one.key[0], one.key[1], *_cells(one)) for one in shown],
        ),
        height=height_of(rows),
    )


def _by_type(view: PlanView) -> tuple[LayerGroup[str], ...]:
    return group_layers(view.facts, lambda row: row.layer.type)


def _of_types(
    groups: Sequence[LayerGroup[str]],
    *,
    key: str,
    title: str,
    x_title: str,
    value: Callable[[LayerGroup[str]], float],
) -> Chart:
    rows: list[Spec] = [
        {
            **_tips(one, one.key),
            "row": f"{rank:03}",
            "label": one.key,
            "group": one.key,
            "value": value(one),
        }
        for rank, one in enumerate(groups[:_MOST_TYPES])
    ]
    rest = groups[_MOST_TYPES:]
    if rest:
        label = counted(len(rest), "other type")
        amount = sum(value(one) for one in rest)
        layers = sum(one.layers for one in rest)
        more = {"type": label, "layers": layers, "ms": None, "share": None}
        rows.append({**more, "row": "rest", "label": label, "group": label, "value": amount})
    names = [row["group"] for row in rows]
    kinds = {group.key for group in groups}
    color = group_color(
        "type", names, lambda one: type_color(one) if one in kinds else OTHER, legend=False
    )
    return Chart(
        key=key,
        title=title,
        spec=bars(rows, x_title, _TIPS, color),
        table=table_of(
            ("Type", "Layers", "Mean, ms", "Share, %"),
            [(group.key, *_cells(group)) for group in groups],
        ),
        height=height_of(rows),
    )


def _tips(one: LayerGroup[Any], name: str) -> Spec:
    return {"type": name, "layers": one.layers, "ms": one.mean_ms, "share": one.share_pct}


def _cells(one: LayerGroup[Any]) -> tuple[str, ...]:
    return (f"{one.layers:,}", figure(one.mean_ms), figure(one.share_pct))


def _precisions(pairs: Sequence[LayerGroup[tuple[str, str]]]) -> list[str]:
    return list(dict.fromkeys(pair.key[1] for pair in pairs))


def _left_out(types: int) -> tuple[str, ...]:
    if types <= _MOST_TYPES:
        return ()
    return (
        f"The {_MOST_TYPES} types with the most time; {types - _MOST_TYPES:,} more are not shown",
    )
