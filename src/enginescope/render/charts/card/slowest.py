"""The slowest layers, and what all others take together."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_clusters import QUANTITIES, quantity_named
from enginescope.analysis.roofline.matrix_product import groups_of, kernel_of
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.render.charts.bars import bars, height_of
from enginescope.render.charts.card.scatter import (
    check_color,
    color_channel,
    color_fields,
    color_title,
)
from enginescope.render.charts.card.wording import figure, shape, table_of
from enginescope.render.html.images import Chart, ChartTable, Spec

#: The others have no bar of their own if it would be longer than so many of the longest.
_MOST_TIMES = 3
_TIPS = {
    "name": "layer",
    "ms": "time, ms#",
    "share": "share of the sum, %#",
    "type": "type",
    "kernel": "kernel",
    "groups": "groups",
    "macs": "million MACs#",
    "mib": "activations and weights, MiB#",
    "intensity": "MACs per byte#",
    "tactic": "tactic",
}


def slowest_layers(
    view: PlanView,
    *,
    top: int = 30,
    color: str = "precision",
    kinds: Collection[str] | None = None,
) -> Chart | None:
    """The `top` layers with the longest time, and the rest in one bar.

    Args:
        color: ``"precision"``, ``"output_precision"``, ``"work"``, ``"kernel"``, or a quantity:
            ``"macs"``, ``"footprint"``, ``"intensity"``, ``"compute"``, ``"bandwidth"``,
            ``"groups"``.
        kinds: Types of layers; by default all.
    """
    check_color(color)
    every = [row for row in view.facts if row.time_ms and (not kinds or row.layer.type in kinds)]
    every.sort(key=lambda row: -(row.time_ms or 0.0))
    if not every:
        return None
    shown, rest = every[:top], every[top:]
    if color in QUANTITIES and all(QUANTITIES[color].value(row) is None for row in shown):
        color = "precision"  # an amount that no layer has would leave a scale without ends
    rows = [_row(rank, row, color) for rank, row in enumerate(shown)]
    groups = [row["group"] for row in rows if "group" in row]
    others = _rest(rest) if rest else None
    if others and others["value"] <= _MOST_TIMES * rows[0]["value"]:
        rows.append(others)
        groups += [others["group"]] if groups else []
    share = sum(row["share"] or 0.0 for row in rows[: len(shown)])
    which = f"The {len(shown)} slowest of {len(every):,}" if rest else f"All {len(every)} timed"
    return Chart(
        key="latency-per-layer",
        title=f"Layers by time, colored by {color_title(color)}",
        subtitle=(f"{which}: {format_significant(share)} % of the sum{_rest_text(others)}",),
        spec=bars(rows, "time per iteration, ms", _TIPS, color_channel(color, groups)),
        table=_table(shown, others),
        height=height_of(rows),
        is_wide=True,
    )


def _row(rank: int, row: LayerFacts, color: str) -> Spec:
    layer = row.layer
    return {
        "row": f"{rank:05}",
        "label": layer.name,
        "name": layer.name,
        "value": row.time_ms,
        "ms": row.time_ms,
        "share": 100 * (row.time_ms or 0.0) / row.whole_ms if row.whole_ms else None,
        "type": layer.type,
        "kernel": shape(kernel_of(layer)),
        "groups": figure(groups_of(layer)),
        "macs": quantity_named("macs").value(row),
        "mib": quantity_named("footprint").value(row),
        "intensity": row.work.arithmetic_intensity,
        "tactic": layer.tactic_name or "not known",
        **color_fields(color, row),
    }


def _rest_text(others: Spec | None) -> str:
    if others is None:
        return " over all layers"
    return f" over all layers; {others['name']} {format_ms(others['ms'])}"


def _rest(rows: Sequence[LayerFacts]) -> Spec:
    label = f"{counted(len(rows), 'other layer')}, together"
    sum_ms = sum(row.time_ms or 0.0 for row in rows)
    whole_ms = rows[0].whole_ms
    nothing = dict.fromkeys(("type", "kernel", "groups", "macs", "mib", "intensity", "tactic"))
    return {
        **nothing,
        "row": "rest",
        "label": label,
        "name": label,
        "value": sum_ms,
        "ms": sum_ms,
        "share": 100 * sum_ms / whole_ms if whole_ms else None,
        "group": "others",
        "shade": None,
    }


def _table(rows: Sequence[LayerFacts], others: Spec | None) -> ChartTable:
    last = [(others["name"], figure(others["ms"]), *("" for _ in range(7)))] if others else []
    return table_of(
        (
            "Layer",
            "Time, ms",
            "Type",
            "Precision",
            "Kernel",
            "Groups",
            "Million MACs",
            "Activations and weights, MiB",
            "MACs per byte",
        ),
        [
            (
                row.layer.name,
                figure(row.time_ms),
                row.layer.type,
                row.precision or "—",
                shape(kernel_of(row.layer)) if kernel_of(row.layer) else "—",
                figure(groups_of(row.layer), 1),
                figure(quantity_named("macs").value(row)),
                figure(quantity_named("footprint").value(row)),
                figure(row.work.arithmetic_intensity),
            )
            for row in rows
        ]
        + last,
    )
