"""The charts of a plan, by name."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.core.record import Record
from enginescope.render.charts.card import amounts, types
from enginescope.render.charts.card.scatter import scatter
from enginescope.render.charts.card.slowest import slowest_layers
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


_CHARTS = (
    ("latency-per-layer", "the slowest layers", "top color kinds", slowest_layers),
    ("latency-per-type", "time by type, split by precision", "", types.time_per_type),
    ("latency-per-tactic", "time by tactic", "top", types.by_tactic),
    ("precision-rollup", "what part each precision has", "", types.rollup),
    ("precision-changes", "layers by what they read and write", "", types.precision_changes),
    ("footprint-per-layer", "the largest layers", "top", amounts.largest_layers),
    ("live-activations", "activations alive at each layer", "", amounts.live_activations),
    ("scatter", "any two quantities of layers", "x y color kinds", scatter),
)
PLAN_CHARTS = {
    name: PlanChart(name=name, shows=shows, options=tuple(options.split()), make=make)
    for name, shows, options, make in _CHARTS
}


def charts_of(view: PlanView, *names: str) -> tuple[Chart, ...]:
    """Return the charts of these names that the plan has something for."""
    found = (PLAN_CHARTS[name].make(view) for name in names)
    return tuple(one for one in found if one is not None)
