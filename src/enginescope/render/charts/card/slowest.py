"""The slowest layers."""

from __future__ import annotations

from collections.abc import Collection

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_clusters import quantity_named
from enginescope.analysis.roofline.matrix_product import groups_of, kernel_of
from enginescope.judge.units import format_significant
from enginescope.render.charts.bars import X_TITLE, bar_chart
from enginescope.render.charts.card.scatter import coloring_named
from enginescope.render.charts.card.wording import figure, shape
from enginescope.render.html.images import Chart, Spec

_TIPS = {
    "name": "layer",
    "value": "time, ms#",
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
    view: PlanView, *, top: int = 30, color: str = "precision", kinds: Collection[str] | None = None
) -> Chart | None:
    """The `top` layers with the longest time.

    Args:
        color: ``"precision"``, ``"output_precision"``, ``"work"`` or ``"kernel"``.
        kinds: Types of layers; by default all.
    """
    coloring = coloring_named(color)
    every = [row for row in view.facts if row.time_ms and (not kinds or row.layer.type in kinds)]
    every.sort(key=lambda row: -(row.time_ms or 0.0))
    if not every:
        return None
    shown = every[:top]
    rows = [_row(rank, row, coloring.group(row)) for rank, row in enumerate(shown)]
    share = sum(row["share"] or 0.0 for row in rows)
    some = f"The {len(shown)} slowest of {len(every):,}"
    which = some if len(shown) < len(every) else f"All {len(every)} timed"
    return bar_chart(
        rows,
        X_TITLE,
        {**_TIPS, "group": coloring.name},
        coloring.channel([row["group"] for row in rows]),
        key="latency-per-layer",
        title=f"Layers by time, colored by {coloring.name}",
        subtitle=(f"{which}: {format_significant(share)} % of the sum over all layers",),
        is_wide=True,
    )


def _row(rank: int, row: LayerFacts, group: str) -> Spec:
    layer = row.layer
    return {
        "row": f"{rank:05}",
        "label": layer.name,
        "name": layer.name,
        "value": row.time_ms,
        "share": 100 * (row.time_ms or 0.0) / row.whole_ms if row.whole_ms else None,
        "type": layer.type,
        "kernel": shape(kernel_of(layer)),
        "groups": figure(groups_of(layer)),
        "macs": quantity_named("macs").value(row),
        "mib": quantity_named("footprint").value(row),
        "intensity": row.work.arithmetic_intensity,
        "tactic": layer.tactic_name or "not known",
        "group": group,
    }
