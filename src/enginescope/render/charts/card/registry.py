"""The charts of a plan, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_clusters import clusters, quantity_named
from enginescope.analysis.roofline.layer_work import MATRIX_TYPES
from enginescope.analysis.roofline.matrix_product import CONVOLUTION_TYPES
from enginescope.core.record import Record
from enginescope.render.base.palette import BLUE, ORANGE, VERMILLION
from enginescope.render.charts.card import amounts, kinds, order, types
from enginescope.render.charts.card.scatter import scatter
from enginescope.render.charts.card.slowest import slowest_layers
from enginescope.render.charts.card.wording import figure, table_of
from enginescope.render.charts.distribution import log_axis
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip

_SIDES = {"m": BLUE, "n": ORANGE, "k": VERMILLION}


def product_sizes(
    view: PlanView, *, kinds: Collection[str] | None = None, key: str = "mnk-time"
) -> Chart | None:
    """m, n and k of each layer that multiplies matrices, against its time."""
    rows = [
        row
        for row in view.facts
        if row.work.product and row.time_ms and (kinds is None or row.layer.type in kinds)
    ]
    points = [point for side in _SIDES for point in _points(rows, side)]
    if not points:
        return None
    return Chart(
        key=key,
        title="Time against the sides m, n and k of the matrix product",
        subtitle=("m: rows; n: columns; k: terms of each sum. A layer is three points",),
        spec={
            "data": {"values": points},
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.7},
            "encoding": {
                "x": quantity("x", "m, n or k", **log_axis([one["x"] for one in points])),
                "y": quantity("y", "time, ms", **log_axis([one["y"] for one in points])),
                "color": _side(list(_SIDES.values())),
                "shape": _side(["circle", "square", "triangle-up"]),
                "tooltip": tooltip(
                    name="layer",
                    size="m × n × k",
                    group="side",
                    x="its value#",
                    y="time, ms#",
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
            "x": point.x,
            "y": point.y,
            "group": side,
            "layers": point.layers,
            "name": point.example.layer.name,
            "size": " × ".join(f"{getattr(point.example.work.product, side):,}" for side in _SIDES),
        }
        for point in found.points
    ]


def _side(values: list[str]) -> Spec:
    scale = {"domain": list(_SIDES), "range": values}
    return {"field": "group", "type": "nominal", "title": "side", "scale": scale}


def _table(rows: Sequence[LayerFacts]) -> ChartTable:
    ranked = sorted(rows, key=lambda row: -(row.time_ms or 0.0))
    return table_of(
        ("Layer", "Time, ms", "m", "n", "k", "groups", "Million MACs"),
        (
            (
                row.layer.name,
                figure(row.time_ms),
                *(f"{side:,}" for side in (one.m, one.n, one.k, one.groups)),
                figure(one.macs / 1e6),
            )
            for row in ranked
            if (one := row.work.product)
        ),
        total=len(ranked),
    )


PRODUCT_TYPES = MATRIX_TYPES | {"FullyConnected"}


class PlanChart(Record, frozen=True, kw_only=True):
    """A chart of a plan.

    Attributes:
        shows: What is seen.
        options: Names of the options that `make` takes.
        make: From a `PlanView` to a chart, or ``None`` where the plan has nothing to show.
    """

    name: str
    shows: str
    options: tuple[str, ...]
    make: Callable[..., Chart | None]


def _scatter(name: str, x: str, y: str) -> Callable[..., Chart | None]:
    return partial(scatter, x=x, y=y, key=name, kinds=CONVOLUTION_TYPES)


# name, what is seen, options, function
_Entry = tuple[str, str, tuple[str, ...], Callable[..., "Chart | None"]]
_TABLE: tuple[_Entry, ...] = (
    ("latency-per-layer", "the slowest layers and the rest", ("top", "color"), slowest_layers),
    ("latency-in-order", "time in the plan's order, by kind of work", (), order.time_in_order),
    ("precision-per-layer", "the same by precision", (), order.precision_in_order),
    (
        "output-precision-per-layer",
        "the same by output precision",
        (),
        order.output_precision_in_order,
    ),
    ("cumulative-latency", "how many layers take how much", (), order.cumulative),
    ("latency-distribution", "how many layers take how long", (), amounts.time_spread),
    ("count-per-type", "layers by type", (), types.count_per_type),
    ("latency-per-type", "time by type", (), types.time_per_type),
    ("precision-per-type", "time by type, split by precision", (), types.precision_per_type),
    ("precision-rollup", "what part each precision has", (), types.rollup),
    ("precision-changes", "layers by what they read and write", (), types.precision_changes),
    ("latency-per-tactic", "time by tactic", ("top",), kinds.by_tactic),
    ("weights-per-layer", "weights in the plan's order", (), amounts.weights_in_order),
    ("activations-per-layer", "activations in the plan's order", (), amounts.activations_in_order),
    ("footprint-per-layer", "the largest layers", ("top",), amounts.largest_layers),
    ("weights-distribution", "how large weights are", (), amounts.weights_spread),
    ("activations-distribution", "how much layers read, write", (), amounts.activations_spread),
    ("footprint-distribution", "how large footprints are", (), amounts.footprint_spread),
    ("live-activations", "activations alive at each layer", (), amounts.live_activations),
    (
        "latency-per-convolution",
        "the slowest convolutions",
        ("top", "color"),
        partial(slowest_layers, noun="convolution", kinds=CONVOLUTION_TYPES),
    ),
    ("convolutions-by-kernel", "convolutions by kernel size", (), kinds.by_kernel),
    ("convolutions-by-groups", "convolutions by groups", (), kinds.by_groups),
    (
        "convolutions-macs",
        "time against MACs",
        ("color",),
        _scatter("convolutions-macs", "macs", "time"),
    ),
    (
        "convolutions-footprint",
        "time against footprint",
        ("color",),
        _scatter("convolutions-footprint", "footprint", "time"),
    ),
    (
        "convolutions-intensity",
        "footprint against arithmetic intensity",
        ("color",),
        _scatter("convolutions-intensity", "intensity", "footprint"),
    ),
    (
        "convolutions-compute",
        "compute rate against arithmetic intensity",
        ("color",),
        _scatter("convolutions-compute", "intensity", "compute"),
    ),
    (
        "convolutions-bandwidth",
        "memory rate against arithmetic intensity",
        ("color",),
        _scatter("convolutions-bandwidth", "intensity", "bandwidth"),
    ),
    (
        "convolutions-mnk",
        "time against m, n and k",
        (),
        partial(product_sizes, key="convolutions-mnk", kinds=CONVOLUTION_TYPES),
    ),
    (
        "latency-per-matrix-product",
        "the slowest matrix products",
        ("top", "color"),
        partial(slowest_layers, noun="matrix product", kinds=PRODUCT_TYPES),
    ),
    (
        "products-mnk",
        "time against m, n and k",
        (),
        partial(product_sizes, key="products-mnk", kinds=PRODUCT_TYPES),
    ),
    (
        "products-compute",
        "compute rate against arithmetic intensity",
        ("color",),
        partial(scatter, x="intensity", y="compute", key="products-compute", kinds=PRODUCT_TYPES),
    ),
    ("scatter", "any two quantities of layers", ("x", "y", "color", "kinds"), scatter),
    ("pointwise-operations", "operations in pointwise layers", (), kinds.operations),
    ("reformats-by-origin", "reformats and what they change", (), kinds.by_origin),
)

PLAN_CHARTS = {
    name: PlanChart(name=name, shows=shows, options=options, make=make)
    for name, shows, options, make in _TABLE
}


def charts_of(view: PlanView, *names: str) -> tuple[Chart, ...]:
    """Return the charts of these names that the plan has something for."""
    found = (PLAN_CHARTS[name].make(view) for name in names)
    return tuple(one for one in found if one is not None)
