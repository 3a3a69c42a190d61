"""The charts of a plan, by name."""

from collections.abc import Callable

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.core.record import Record
from enginescope.render.charts.bars import layer_bars
from enginescope.render.charts.card import sums
from enginescope.render.charts.card.scatter import scatter
from enginescope.render.html.images import Chart


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


PLAN_CHARTS = {
    name: PlanChart(name=name, shows=shows, options=tuple(options.split()), make=make)
    for name, shows, options, make in (
        (
            *("latency-per-layer", "the slowest layers", "top kinds"),
            lambda view, **options: layer_bars(view.rows, **options),
        ),
        ("latency-per-type", "time by type, split by precision", "", sums.time_per_type),
        ("precision-rollup", "what part each precision has", "", sums.rollup),
        ("footprint-per-layer", "the largest layers", "top", sums.largest_layers),
        ("live-activations", "memory at each layer", "", sums.live_activations),
        ("scatter", "any two quantities of layers", "x y kinds", scatter),
    )
}


def charts_of(view: PlanView, *names: str) -> tuple[Chart, ...]:
    """Return the charts of these names that the plan has something for."""
    found = (PLAN_CHARTS[name].make(view) for name in names)
    return tuple(one for one in found if one is not None)
