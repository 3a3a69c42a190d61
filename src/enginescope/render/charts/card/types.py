"""Sums over layers: time by type and tactic, shares of precisions, and where precisions change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from enginescope.analysis.layers.layer_table import tactic_shares
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_groups import (
    LayerGroup,
    RollupPart,
    group_layers,
    precision_rollup,
)
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.render.base.palette import AMOUNTS, precision_color, type_color
from enginescope.render.charts.bars import bars, group_color, height_of
from enginescope.render.charts.card.scatter import AMOUNT_LEGEND
from enginescope.render.charts.card.wording import NOT_KNOWN, figure, table_of
from enginescope.render.html.images import Chart, Spec, with_tips

_MOST_TYPES = 20
_MOST_TACTICS = 24
_SUMS = {"layers": "layers#", "ms": "time, ms#", "share": "share of the sum, %#"}
_TIPS = {"type": "type", **_SUMS}


def time_per_type(view: PlanView) -> Chart | None:
    """Time of each type, split by precision; numbers of layers where there are no times."""
    pairs = group_layers(view.facts, lambda row: (row.layer.type, row.precision or NOT_KNOWN))
    if not pairs:
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
        key="latency-per-type",
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


def _tips(one: LayerGroup[Any], name: str) -> Spec:
    return {"type": name, "layers": one.layers, "ms": one.time_ms, "share": one.share_pct}


def _cells(one: LayerGroup[Any]) -> tuple[str, ...]:
    return (f"{one.layers:,}", figure(one.time_ms), figure(one.share_pct))


def _precisions(pairs: tuple[LayerGroup[tuple[str, str]], ...]) -> list[str]:
    return list(dict.fromkeys(pair.key[1] for pair in pairs))


def _left_out(types: int) -> tuple[str, ...]:
    if types <= _MOST_TYPES:
        return ()
    return (
        f"The {_MOST_TYPES} types with the most time; {types - _MOST_TYPES:,} more are not shown",
    )


def by_tactic(view: PlanView, *, top: int = _MOST_TACTICS) -> Chart | None:
    """Time by tactic, hashes at the end of a name left out."""
    found = [share for share in tactic_shares(view.rows) if share.time_ms]
    if not found or all(one.tactic is None for one in found):
        return None
    rows: list[Spec] = [
        {
            "row": f"{rank:03}",
            "label": one.tactic or NOT_KNOWN,
            "name": one.tactic or NOT_KNOWN,
            "group": one.types[0] if len(one.types) == 1 else "several types",
            "value": one.time_ms,
            "layers": one.layers,
            "ms": one.time_ms,
            "share": one.share_pct,
        }
        for rank, one in enumerate(found[:top])
    ]
    color = group_color("type", [row["group"] for row in rows], type_color)
    return Chart(
        key="latency-per-tactic",
        title=f"Time by tactic: {counted(len(found), 'tactic')}, colored by type of layer",
        subtitle=(f"The {len(rows)} with the most time",) if len(rows) < len(found) else (),
        spec=bars(rows, "time, ms", {"name": "tactic", "group": "type", **_SUMS}, color),
        table=table_of(
            ("Tactic", "Types", "Layers", "Time, ms", "Share, %"),
            [
                (
                    one.tactic or NOT_KNOWN,
                    ", ".join(one.types),
                    f"{one.layers:,}",
                    figure(one.time_ms),
                    figure(one.share_pct),
                )
                for one in found
            ],
        ),
        height=height_of(rows),
        is_wide=True,
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
