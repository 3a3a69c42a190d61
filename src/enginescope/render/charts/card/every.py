"""The charts of a plan, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from enginescope.analysis.kernels import CONVOLUTION_TYPES
from enginescope.analysis.layer_work import MATRIX_TYPES
from enginescope.analysis.plan_view import PlanView
from enginescope.core.record import Record
from enginescope.render.charts.card import kinds, memory, order, precision, spread, types
from enginescope.render.charts.card.products import product_sizes
from enginescope.render.charts.card.scatter import scatter
from enginescope.render.charts.card.slowest import slowest_layers
from enginescope.render.charts.spec import Chart

PRODUCT_TYPES = MATRIX_TYPES | {"FullyConnected"}


class PlanChart(Record, frozen=True, kw_only=True):
    """A chart of a plan.

    Attributes
    ----------
    name : str
    shows : str
        What is seen.
    options : tuple of str
        Names of the options that `make` takes.
    make : callable
        From a `PlanView` to a chart, or ``None`` where the plan has nothing to show.
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
    ("latency-distribution", "how many layers take how long", (), spread.time_spread),
    ("count-per-type", "layers by type", (), types.count_per_type),
    ("latency-per-type", "time by type", (), types.time_per_type),
    ("precision-per-type", "time by type, split by precision", (), types.precision_per_type),
    ("precision-rollup", "what part each precision has", (), precision.rollup),
    ("precision-changes", "layers by what they read and write", (), precision.precision_changes),
    ("latency-per-tactic", "time by tactic", ("top",), kinds.by_tactic),
    ("weights-per-layer", "weights in the plan's order", (), memory.weights_in_order),
    ("activations-per-layer", "activations in the plan's order", (), memory.activations_in_order),
    ("footprint-per-layer", "the largest layers", ("top",), memory.largest_layers),
    ("weights-distribution", "how large weights are", (), spread.weights_spread),
    ("activations-distribution", "how much layers read, write", (), spread.activations_spread),
    ("footprint-distribution", "how large footprints are", (), spread.footprint_spread),
    ("live-activations", "activations alive at each layer", (), memory.live_activations),
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
