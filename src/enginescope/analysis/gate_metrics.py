"""What a gate can be held to, by the names that ``--metric`` takes."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.analysis.compared_figures import COMPARED_SERIES, FIGURES, Figure
from enginescope.analysis.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.model.metric import METRICS

#: The headline of a run: its latency, by whichever definition it has.
HEADLINE = "latency"
_PERCENTILES = (90.0, 95.0, 99.0)


def _percentile(p: float) -> Callable[[RunView], float | None]:
    def of(view: RunView) -> float | None:
        found = view.latency.percentile(p) if view.latency else None
        return found.value_ms if found and found.is_supported else None

    return of


PERCENTILES: tuple[Figure, ...] = tuple(
    Figure(name=f"p{p:g}", title=f"p{p:g} latency", unit="ms", of=_percentile(p))
    for p in _PERCENTILES
)
#: Figures that each process has one of, in the order in which they are listed.
GATED_FIGURES: tuple[Figure, ...] = (*PERCENTILES, *FIGURES)
#: Name -> heading of everything there is.
GATE_METRICS: dict[str, str] = {
    HEADLINE: "Latency",
    **{tag: METRICS[tag].title for tag in COMPARED_SERIES},
    **{one.name: one.title for one in GATED_FIGURES},
}
_FIGURE_OF = {one.name: one for one in GATED_FIGURES}


def check_metric(name: str) -> str:
    """Return `name` if it is one that a gate can be held to.

    Raises
    ------
    UsageError
        It is not; says which is near, or all there are.
    """
    if name in GATE_METRICS:
        return name
    known = ", ".join(GATE_METRICS)
    raise UsageError(
        f"no metric {name!r}", hint=did_you_mean(name, tuple(GATE_METRICS)) or f"one of {known}"
    )


def figure_of(name: str) -> Figure | None:
    """Return the figure of that name; ``None`` of a sampled series."""
    return _FIGURE_OF.get(name)


def metric_unit(name: str) -> str:
    """Return ``ms``, ``B``, ``/s`` or ``J``."""
    figure = figure_of(name)
    return figure.unit if figure else "ms"
