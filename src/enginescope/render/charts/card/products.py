"""Sizes of matrix products against the time they take."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from enginescope.analysis.layer_clusters import clusters
from enginescope.analysis.layer_quantities import quantity_named
from enginescope.analysis.plan_column_table import LayerFacts
from enginescope.analysis.plan_view import PlanView
from enginescope.render.charts.card.wording import figure, table_of
from enginescope.render.charts.log_axis import log_axis
from enginescope.render.charts.spec import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.palette import BLUE, ORANGE, VERMILLION

_SIDES = {"m": BLUE, "n": ORANGE, "k": VERMILLION}


def product_sizes(
    view: PlanView, *, kinds: Collection[str] | None = None, key: str = "mnk-time"
) -> Chart | None:
    """m, n and k of each layer that multiplies matrices, against its mean time."""
    rows = [
        row
        for row in view.facts
        if row.work.product and row.mean_ms and (kinds is None or row.layer.type in kinds)
    ]
    points = [point for side in _SIDES for point in _points(rows, side)]
    if not points:
        return None
    return Chart(
        key=key,
        title="Mean time against the sides m, n and k of the matrix product",
        subtitle=("m: rows; n: columns; k: terms of each sum. A layer is three points",),
        spec={
            "data": {"values": points},
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.7},
            "encoding": {
                "x": quantity("x", "m, n or k", **log_axis([one["x"] for one in points])),
                "y": quantity("y", "mean time, ms", **log_axis([one["y"] for one in points])),
                "color": _side(list(_SIDES.values())),
                "shape": _side(["circle", "square", "triangle-up"]),
                "tooltip": tooltip(
                    name="layer",
                    size="m × n × k",
                    group="side",
                    x="its value#",
                    y="mean, ms#",
                    layers="layers#",
                ),
            },
        },
        table=_table(rows),
        height=300,
    )


def _points(rows: Sequence[LayerFacts], side: str) -> list[Spec]:
    found = clusters(
        rows, quantity_named(side).value, quantity_named("time").value, lambda _: "layers"
    )
    return [
        {
            "x": one.x,
            "y": one.y,
            "group": side,
            "layers": one.layers,
            "name": one.example.layer.name,
            "size": _size(one.example.work.product),
        }
        for one in found.points
    ]


def _side(values: list[str]) -> Spec:
    scale = {"domain": list(_SIDES), "range": values}
    return {"field": "group", "type": "nominal", "title": "side", "scale": scale}


def _table(rows: Sequence[LayerFacts]) -> ChartTable:
    ranked = sorted(rows, key=lambda row: -(row.mean_ms or 0.0))
    return table_of(
        ("Layer", "Mean, ms", "m", "n", "k", "groups", "Million MACs"),
        (
            (
                row.layer.name,
                figure(row.mean_ms),
                *(f"{side:,}" for side in (one.m, one.n, one.k, one.groups)),
                figure(one.macs / 1e6),
            )
            for row in ranked
            if (one := row.work.product)
        ),
        total=len(ranked),
    )


def _size(one: object) -> str:
    return " × ".join(f"{getattr(one, side):,}" for side in _SIDES)
