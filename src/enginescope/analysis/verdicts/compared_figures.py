"""Figures that a run has one of, and that are compared beside its samples.

What a gate can be held to, by the names that ``--metric`` takes.
"""

from collections.abc import Callable
from operator import attrgetter

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.judge.stats.describe import PERCENTILES, median, percentile
from enginescope.records.run.metric import METRICS
from enginescope.records.run.run import Run

#: Sampled series that are compared beside the headline: the GPU's part of it, or without copies.
COMPARED_SERIES = ("gpu_compute", "device_latency", "time_to_first_token", "time_per_token")


class Figure(Record, frozen=True):
    """A figure that a run has one of.

    Attributes:
        of: From a `RunView` to the figure, or ``None``.
        is_exact: It comes out the same each time, so that any difference is one.
        of_build: It is the engine's: processes that ran the engine of one build have it once
            together.
        percentile: The percentile of the latency that it is, 0…100.
    """

    name: str
    title: str
    unit: str
    of: Callable[[RunView], float | None]
    is_exact: bool = False
    of_build: bool = False
    percentile: float | None = None
    higher_is_better: bool = False


def _phase(name: str) -> Callable[[RunView], float | None]:
    return lambda view: view.run.phase_ms(name)


def _of(part: str, name: str) -> Callable[[RunView], float | None]:
    held = attrgetter(part)
    return lambda view: None if held(view) is None else getattr(held(view), name)


def _engine_bytes(run: Run) -> float | None:
    if run.build is not None:
        return run.build.engine_bytes
    return run.job.subject.size_bytes if run.job.subject.kind == "engine" else None


def _supported(p: float) -> Callable[[RunView], float | None]:
    def of(view: RunView) -> float | None:
        found = view.latency.percentile(p) if view.latency else None
        return found.value_ms if found and found.mark is None else None

    return of


#: Percentiles of the latency; `of` leaves out one that has a mark.
TAILS: tuple[Figure, ...] = tuple(
    Figure(name=f"p{p:g}", title=f"p{p:g} latency", unit="ms", of=_supported(p), percentile=p)
    for p in PERCENTILES
)


FIGURES: tuple[Figure, ...] = (
    TAILS[-1],
    Figure("throughput", "Throughput", "/s", attrgetter("throughput_per_s"), higher_is_better=True),
    Figure("first_inference", "First inference", "ms", _phase("first_inference")),
    Figure("load", "Load", "ms", _phase("load")),
    Figure("build", "Build", "ms", _of("run.build", "build_ms"), of_build=True),
    Figure("peak_memory", "Peak host memory", "B", attrgetter("run.peak_memory_bytes")),
    Figure("device_memory", "Device memory", "B", _of("run.device_memory", "process_bytes")),
    Figure("energy", "Energy of a request (sampled)", "J", _of("energy", "joules")),
    Figure("engine_size", "Engine size", "B", lambda view: _engine_bytes(view.run), is_exact=True),
)


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


def check_metric(name: str) -> str:
    """Return `name` if it is one that a gate can be held to."""
    if name in GATE_METRICS:
        return name
    hint = did_you_mean(name, tuple(GATE_METRICS)) or f"one of {', '.join(GATE_METRICS)}"
    raise UsageError(f"no metric {name!r}", hint=hint)


def figure_of(name: str) -> Figure | None:
    """Return the figure of that name; ``None`` of a sampled series."""
    return next((figure for figure in GATED_FIGURES if figure.name == name), None)


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
