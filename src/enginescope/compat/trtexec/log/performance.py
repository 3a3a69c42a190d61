"""trtexec's performance report: trace averages, summary, and what it warns of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from enginescope.compat.trtexec.arguments import Version
from enginescope.compat.trtexec.log.log import Line, info, number, warning
from enginescope.compat.trtexec.settings import Settings
from enginescope.core.record import replace
from enginescope.formats.trtexec.exported_times import as_trtexec_prints
from enginescope.judge.samples import Array, Samples, frozen
from enginescope.records.run.metric import METRICS
from enginescope.records.run.run import Run
from enginescope.records.samples import ReportedSummary

#: Metric -> heading, in the order of the summary.
HEADINGS = {
    "trtexec_latency": "Latency",
    "enqueue": "Enqueue Time",
    "h2d": "H2D Latency",
    "gpu_compute": "GPU Compute Time",
    "d2h": "D2H Latency",
}
#: Where nothing is copied trtexec prints zeros.
_COPIES = ("h2d", "d2h")
_MOST_ENQUEUE = 0.8


def performance_lines(run: Run, settings: Settings) -> tuple[Line, ...]:
    """Return the report of a measured run; nothing for one without GPU compute times."""
    compute = run.series("gpu_compute")
    if compute is None or not len(compute):
        return ()
    series = {one.metric: one for one in run.samples if one.metric in HEADINGS and len(one)}
    for metric in _COPIES:
        if not settings.timing.transfers and metric not in series:
            nothing = frozen(np.zeros(len(compute)))
            series[metric] = Samples(metric=metric, values_ms=nothing)
    statistics = {
        metric: _summarised(one, settings.reporting.percentiles) for metric, one in series.items()
    }
    wall_ms = wall_ms_of(run)
    return (
        *_prolog(run, settings, len(compute), wall_ms),
        *_trace(run, settings),
        *_summary(statistics, len(compute), wall_ms),
        *_warnings(statistics, compute, settings),
        *info("Explanations of the performance metrics are printed in the verbose logs.", ""),
        *(_explanations() if settings.reporting.verbose else ()),
    )


def _summarised(series: Samples, percentiles: tuple[float, ...]) -> ReportedSummary:
    """Return statistics by trtexec's rules, but for the mean.

    trtexec adds up 32-bit floats, which is wrong in the sixth digit it prints; a mean of ours is
    true to that digit.
    """
    found = as_trtexec_prints(series, percentiles)
    return replace(found, mean_ms=float(series.values_ms.mean()))


def wall_ms_of(run: Run) -> float | None:
    """Return the time the timed queries span on the GPU's clock."""
    if run.wall_ms is not None or run.trace is None:
        return run.wall_ms
    return float(run.trace.d2h_end[-1] - run.trace.h2d_start[0])


def unstable_from_pct(version: Version) -> float:
    """Return the coefficient of variance above which trtexec calls compute times unstable."""
    return 2.5 if version.at_least(10, 13, 2) else 1.0


def _prolog(run: Run, settings: Settings, n: int, wall_ms: float | None) -> Iterator[Line]:
    if run.warmup is not None:
        warm_up = number(settings.timing.warm_up_ms)
        yield from info(f"Warmup completed {run.warmup.iterations} queries over {warm_up} ms")
    if wall_ms is not None:
        yield from info(f"Timing trace has {n} queries over {number(wall_ms / 1e3)} s")


def _trace(run: Run, settings: Settings) -> Iterator[Line]:
    size = settings.reporting.average_runs
    yield from info("", "=== Trace details ===", f"Trace averages of {size} runs:")
    series = [run.series(one) for one in ("gpu_compute", "trtexec_latency", "enqueue")]
    if any(one is None or len(one) != len(series[0] or ()) for one in series):
        return
    compute, latency, enqueue = (_averages(one, size) for one in series if one is not None)
    ends = _printed_at_each_end(settings.arguments.version)
    omits = ends is not None and compute.size > 2 * ends
    for index in range(compute.size):
        if omits and ends is not None and ends <= index < compute.size - ends:
            if index == ends:
                yield from info(f"... Omitting {(compute.size - 2 * ends) * size} lines")
            continue
        yield from info(
            f"Average on {size} runs - GPU latency: {number(compute[index])} ms - Host latency: "
            f"{number(latency[index])} ms (enqueue {number(enqueue[index])} ms)"
        )


def _averages(samples: Samples, size: int) -> Array:
    """Return the mean of each block of `size` values; skip an incomplete last block."""
    whole = len(samples) // size
    means: Array = samples.values_ms[: whole * size].reshape(whole, size).mean(axis=1)
    return means


def _printed_at_each_end(version: Version) -> int | None:
    if not version.at_least(9):
        return None
    return 200 if version.at_least(9, 3) else 300


def _summary(
    statistics: dict[str, ReportedSummary], n: int, wall_ms: float | None
) -> Iterator[Line]:
    yield from info("", "=== Performance summary ===")
    if wall_ms:
        yield from info(f"Throughput: {number(1e3 * n / wall_ms)} qps")
    for metric, heading in HEADINGS.items():
        if metric in statistics:
            yield from info(f"{heading}: {_statistics(statistics[metric])}")
    if wall_ms is not None:
        yield from info(f"Total Host Walltime: {number(wall_ms / 1e3)} s")
    compute = statistics["gpu_compute"].mean_ms or 0.0
    yield from info(f"Total GPU Compute Time: {number(compute * n / 1e3)} s")


def _statistics(one: ReportedSummary) -> str:
    names = {f"p{p:g}": f"percentile({p:g}%)" for p, _ in one.percentiles}
    pairs = ((names.get(name, name), value) for name, value in one.figures.items())
    return ", ".join(f"{name} = {number(value)} ms" for name, value in pairs if value is not None)


def _warnings(
    statistics: dict[str, ReportedSummary], compute: Samples, settings: Settings
) -> Iterator[Line]:
    hints = _Hints(settings.arguments.version)
    median = statistics["gpu_compute"].median_ms or 0.0
    medians = {metric: one.median_ms or 0.0 for metric, one in statistics.items()}
    may_be = "Throughput may be bound by"
    idle = "rather than GPU Compute and the GPU may be under-utilized."
    if medians.get("enqueue", 0.0) > _MOST_ENQUEUE * median:
        yield from warning(f"* {may_be} Enqueue Time {idle}", hints.enqueue)
    if settings.timing.transfers and medians.get("h2d", 0.0) >= median:
        text = f"* {may_be} host-to-device transfers for the inputs {idle}"
        yield from warning(text, hints.transfers)
    if settings.timing.transfers and medians.get("d2h", 0.0) >= median:
        text = f"* {may_be} device-to-host transfers for the outputs {idle}"
        yield from warning(text, hints.transfers)
    spread = _coefficient_of_variance_pct(compute)
    if spread > unstable_from_pct(settings.arguments.version):
        text = f"* GPU compute time is unstable, with coefficient of variance = {number(spread)}%."
        yield from warning(text, hints.unstable)
    if settings.timing.streams > 1:
        yield from warning(
            "* Multiple inference streams are used. Latencies may not be accurate since "
            'inferences may run in   parallel. Please use "Throughput" as the performance metric '
            "instead."
        )


class _Hints:
    """The second lines of the warnings, which name flags of the version."""

    def __init__(self, version: Version) -> None:
        if version.major >= 11:
            self.enqueue = "  If you are using --noCudaGraph, removing it may increase throughput."
            self.transfers = (
                "  Consider removing --includeDataTransfers to disable data transfers and "
                "potentially increase throughput."
            )
            self.unstable = (
                "  If not already in use, locking GPU clock frequency may improve the stability."
            )
            return
        self.enqueue = (
            "  If not already in use, --useCudaGraph (utilize CUDA graphs where possible) may "
            "increase the throughput."
        )
        self.transfers = "  Add --noDataTransfers flag to disable data transfers."
        self.unstable = (
            "  If not already in use, locking GPU clock frequency or adding --useSpinWait may "
            "improve the stability."
        )


def _explanations() -> Iterator[Line]:
    yield Line("V", "=== Explanations of the performance metrics ===")
    for metric, heading in HEADINGS.items():
        yield Line("V", f"{heading}: {METRICS[metric].meaning}")
    yield Line("V", "Total Host Walltime: What the timed queries span on the GPU's clock.")
    yield Line("V", "Throughput: Queries divided by that span.")


def _coefficient_of_variance_pct(compute: Samples) -> float:
    """Population standard deviation ÷ mean × 100; 0 at a mean of 0."""
    mean = float(compute.values_ms.mean())
    return 100 * float(np.std(compute.values_ms)) / mean if mean else 0.0
