"""What each type of layer has of the plan: number, time, precisions.

Precisions of a plan: how much each has, and where they change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_groups import (
    LayerGroup,
    RollupPart,
    group_layers,
    precision_rollup,
)
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.render.base.palette import AMOUNTS, OTHER, precision_color, type_color
from enginescope.render.charts.bars import bars, group_color, height_of
from enginescope.render.charts.card.scatter import AMOUNT_LEGEND
from enginescope.render.charts.card.wording import NOT_KNOWN, figure, table_of
from enginescope.render.html.images import Chart, Spec, with_tips

_MOST_TYPES = 20
_TIPS = {"type": "type", "layers": "layers#", "ms": "time, ms#", "share": "share of the sum, %#"}


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
    groups = [one for one in _by_type(view) if one.time_ms]
    if not groups:
        return None
    first = groups[0]
    return _of_types(
        groups,
        key="latency-per-type",
        title=f"Time by type: {first.key} takes {format_significant(first.share_pct or 0)} %",
        x_title="time per iteration, ms",
        value=lambda one: one.time_ms or 0.0,
    )


def precision_per_type(view: PlanView) -> Chart | None:
    """Time of each type, split by precision; numbers of layers where there are no times."""
    pairs = group_layers(view.facts, lambda row: (row.layer.type, row.precision or NOT_KNOWN))
    if not pairs or all(pair.key[1] == NOT_KNOWN for pair in pairs):
        return None
    timed = any(pair.time_ms for pair in pairs)
    order = {one.key: rank for rank, one in enumerate(_by_type(view))}
    shown = [pair for pair in pairs if order[pair.key[0]] < _MOST_TYPES]
    shown.sort(key=lambda one: (order[one.key[0]], -(one.time_ms or 0.0), -one.layers))
    rows: list[Spec] = [
        {
            **_tips(one, one.key[0]),
            "row": f"{order[one.key[0]]:03}",
            "label": one.key[0],
            "group": one.key[1],
            "value": (one.time_ms or 0.0) if timed else one.layers,
        }
        for one in shown
    ]
    color = group_color("precision", _precisions(pairs), precision_color)
    x_title = "time per iteration, ms" if timed else "layers"
    return Chart(
        key="precision-per-type",
        title=f"{'Time' if timed else 'Layers'} by type, split by precision",
        subtitle=_left_out(len(order)),
        spec=bars(rows, x_title, {"group": "precision", **_TIPS}, color),
        table=table_of(
            ("Type", "Precision", "Layers", "Time, ms", "Share, %"),
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
            ("Type", "Layers", "Time, ms", "Share, %"),
            [(group.key, *_cells(group)) for group in groups],
        ),
        height=height_of(rows),
    )


def _tips(one: LayerGroup[Any], name: str) -> Spec:
    return {"type": name, "layers": one.layers, "ms": one.time_ms, "share": one.share_pct}


def _cells(one: LayerGroup[Any]) -> tuple[str, ...]:
    return (f"{one.layers:,}", figure(one.time_ms), figure(one.share_pct))


def _precisions(pairs: Sequence[LayerGroup[tuple[str, str]]]) -> list[str]:
    return list(dict.fromkeys(pair.key[1] for pair in pairs))


def _left_out(types: int) -> tuple[str, ...]:
    if types <= _MOST_TYPES:
        return ()
    return (
        f"The {_MOST_TYPES} types with the most time; {types - _MOST_TYPES:,} more are not shown",
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
    spec = bars(rows, "share, %", tips, color)
    spec["encoding"]["x"]["scale"] = {"domain": [0, 100]}
    return Chart(
        key="precision-rollup",
        title=f"Precisions: {_most(parts, measures)}",
        subtitle=("Of the layers' first inputs; each bar is all of what is known",),
        spec=spec,
        table=table_of(
            ("Of", "Precision", "Amount", "Share, %"),
            [
                (
                    part.measure,
                    part.precision,
                    _TEXTS[part.measure](part.value),
                    figure(part.share_pct),
                )
                for part in parts
            ],
        ),
        height=height_of(rows),
    )


def _most(parts: tuple[RollupPart, ...], measures: list[str]) -> str:
    measure = "time" if "time" in measures else "layers"
    first = next(part for part in parts if part.measure == measure)
    share = format_significant(first.share_pct)
    return f"{first.precision} has {share} % of the {measure}"


def precision_changes(view: PlanView) -> Chart | None:
    """Layers by what they read and what they write."""
    pairs = group_layers(
        view.facts, lambda row: (row.precision or NOT_KNOWN, row.output_precision or NOT_KNOWN)
    )
    if not any(NOT_KNOWN not in pair.key for pair in pairs):
        return None
    timed = any(pair.time_ms for pair in pairs)
    rows: list[Spec] = [
        {
            "from": pair.key[0],
            "to": pair.key[1],
            "layers": pair.layers,
            "ms": pair.time_ms,
            "share": pair.share_pct,
            "shade": pair.time_ms if timed else pair.layers,
            "text": f"{pair.layers:,}" + (f" · {format_ms(pair.time_ms, 3)}" if timed else ""),
        }
        for pair in pairs
    ]
    changed = sum(pair.layers for pair in pairs if pair.key[0] != pair.key[1])
    extents = len({one["from"] for one in rows})
    return Chart(
        key="precision-changes",
        title=_changed_text(changed, len(view.facts)),
        subtitle=("Rows: type of the first input; columns: of the first output",),
        spec=_matrix(rows, "time, ms" if timed else "layers"),
        table=table_of(
            ("Reads", "Writes", "Layers", "Time, ms", "Share, %"),
            [
                (*pair.key, f"{pair.layers:,}", figure(pair.time_ms), figure(pair.share_pct))
                for pair in pairs
            ],
        ),
        height=max(60, 40 * extents),
    )


def _changed_text(changed: int, layers: int) -> str:
    verb = "writes another type than it reads"
    if changed != 1:
        verb = "write another type than they read"
    return f"{changed:,} of {counted(layers, 'layer')} {verb}"


def _matrix(rows: list[Spec], shade_title: str) -> Spec:
    top = max(row["shade"] or 0.0 for row in rows)
    place = {
        "y": {"field": "from", "type": "nominal", "title": "reads", "sort": None},
        "x": {
            "field": "to",
            "type": "nominal",
            "title": "writes",
            "sort": None,
            "axis": {"orient": "top", "labelAngle": 0},
        },
    }
    told, tips = with_tips(
        rows,
        {"from": "reads", "to": "writes", "layers": "layers#", "ms": "time, ms#", "share": "%#"},
    )
    shade = {
        "field": "shade",
        "type": "quantitative",
        "title": shade_title,
        "scale": {"scheme": AMOUNTS, "domain": [0, top or 1]},
        "legend": AMOUNT_LEGEND,
    }
    ink = {
        "condition": {"test": f"datum.shade > {0.55 * top}", "value": "#1b1f27"},
        "value": "#ffffff",
    }
    return {
        "data": {"values": told},
        "encoding": place,
        "layer": [
            {"mark": {"type": "rect"}, "encoding": {"color": shade, "tooltip": tips}},
            {
                "mark": {"type": "text"},
                "encoding": {"text": {"field": "text"}, "color": ink, "tooltip": tips},
            },
        ],
    }
