"""What a gate can be held to, by the names that ``--metric`` takes."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.compared_figures import COMPARED_SERIES, FIGURES, TAILS, Figure
from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.records.run.metric import METRICS
from enginescope.stats.percentile import median, percentile

#: The headline of a run: its latency, by whichever definition it has.
HEADLINE = "latency"
#: Figures that each process has one of, in the order in which they are listed.
GATED_FIGURES: tuple[Figure, ...] = tuple(dict.fromkeys((*TAILS, *FIGURES)))
#: Name -> heading of everything there is.
GATE_METRICS: dict[str, str] = {
    HEADLINE: "Latency",
    **{tag: METRICS[tag].title for tag in COMPARED_SERIES},
    **{one.name: one.title for one in GATED_FIGURES},
}
_FIGURE_OF = {one.name: one for one in GATED_FIGURES}


def check_metric(name: str) -> str:
    """Return `name` if it is one that a gate can be held to.

    Raises:
        UsageError: It is not; says which is near, or all there are.
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


def process_value(view: RunView, metric: str) -> float | None:
    """Return what a process contributes to a comparison: a median, a percentile or a figure.

    Returns:
        Above 0; ``None`` where the process does not have the metric.
    """
    figure, headline = figure_of(metric), view.run.headline
    series = headline if metric == HEADLINE else view.run.series(metric)
    value = None
    if figure is not None and figure.percentile is None:
        value = figure.of(view)
    elif figure is not None and figure.percentile is not None and headline is not None:
        value = percentile(headline.values_ms, figure.percentile) if len(headline) else None
    elif series is not None and len(series):
        value = median(series.values_ms)
    return value if value is not None and value > 0 else None


def metric_unit(name: str) -> str:
    """Return ``ms``, ``B``, ``/s`` or ``J``."""
    figure = figure_of(name)
    return figure.unit if figure else "ms"
