"""Precisions of a plan: how much each has, and where they change."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_groups import group_layers
from enginescope.analysis.report_card.precision_rollup import RollupPart, precision_rollup
from enginescope.core.units import format_bytes, format_ms, format_significant
from enginescope.render.base.palette import AMOUNTS, precision_color
from enginescope.render.charts.bars import bars, group_color, height_of
from enginescope.render.charts.card.colors import AMOUNT_LEGEND
from enginescope.render.charts.card.wording import NOT_KNOWN, counted, figure, table_of
from enginescope.render.charts.tooltips import with_tips
from enginescope.render.html.spec import Chart, Spec

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
    timed = any(pair.mean_ms for pair in pairs)
    rows: list[Spec] = [
        {
            "from": pair.key[0],
            "to": pair.key[1],
            "layers": pair.layers,
            "ms": pair.mean_ms,
            "share": pair.share_pct,
            "shade": pair.mean_ms if timed else pair.layers,
            "text": f"{pair.layers:,}" + (f" · {format_ms(pair.mean_ms, 3)}" if timed else ""),
        }
        for pair in pairs
    ]
    changed = sum(pair.layers for pair in pairs if pair.key[0] != pair.key[1])
    extents = len({one["from"] for one in rows})
    return Chart(
        key="precision-changes",
        title=_changed_text(changed, len(view.facts)),
        subtitle=("Rows: type of the first input; columns: of the first output",),
        spec=_matrix(rows, "mean time, ms" if timed else "layers"),
        table=table_of(
            ("Reads", "Writes", "Layers", "Mean, ms", "Share, %"),
            [
                (*pair.key, f"{pair.layers:,}", figure(pair.mean_ms), figure(pair.share_pct))
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
        {"from": "reads", "to": "writes", "layers": "layers#", "ms": "mean, ms#", "share": "%#"},
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
