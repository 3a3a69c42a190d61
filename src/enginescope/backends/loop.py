"""The measurement loop: warm-up, timed loop, stop rule.

Between two readings of the clock there is one call of the step and nothing else. Statistics,
progress and the stop rule run between chunks of the loop, never inside one.
"""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Literal

import numpy as np

from enginescope.backends.base import Progress, ProgressSink
from enginescope.model.job import StopRule, WarmUp
from enginescope.model.run import StopReport, WarmUpReport
from enginescope.model.samples import Samples, frozen
from enginescope.stats.bootstrap import quantile_interval
from enginescope.stats.warmup import is_steady

Step = Callable[[], object]
_RuleName = Literal["iterations", "duration", "precision", "max_time", "hard_limit"]

#: A chunk of the loop lasts about this long: short enough for a live display and for a time limit,
#: long enough that what happens between chunks is rare.
CHUNK_MS = 100.0
#: Untimed calls after a pause, and the stretch from which on they cost less than 4 %.
AFTER_PAUSE = 2
LONG_STRETCH = 50
#: The precision rule looks again only when the samples have grown by this factor: fewer looks
#: bias it less, and the cost of looking stays small beside the cost of measuring.
LOOK_AGAIN = 1.25


class _Series:
    """Start and duration of every iteration so far, nanoseconds."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.times = array("q")

    def __len__(self) -> int:
        return len(self.times)

    def times_ms(self, last: int | None = None) -> np.ndarray:
        """Return the durations, or the last so many: between chunks only these are cheap."""
        times = np.frombuffer(self.times, dtype=np.int64)
        return (times if last is None else times[-last:]) / 1e6

    def extend(self, step: Step, count: int) -> None:
        """Time `count` calls of `step`.

        Before a long stretch a few calls go untimed: the pause since the last one has let other
        work into the caches, and the first calls after it would be slow by our own doing.
        """
        for _ in range(AFTER_PAUSE if count >= LONG_STRETCH else 0):
            step()
        starts = array("q", bytes(8 * count))
        times = array("q", bytes(8 * count))
        clock = perf_counter_ns
        for i in range(count):
            begin = clock()
            step()
            end = clock()
            starts[i] = begin
            times[i] = end - begin
        self.starts.extend(starts)
        self.times.extend(times)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Keep the interpreter's collector from running inside a timed iteration."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def warm_up(step: Step, rule: WarmUp, progress: ProgressSink) -> tuple[WarmUpReport, np.ndarray]:
    """Run `step` until `rule`'s time and count are reached and the times are steady.

    Returns
    -------
    report : WarmUpReport
    times_ms : numpy.ndarray, shape (n,)
        What was timed meanwhile; kept, never mixed with the samples.
    """
    if rule.time_ms == 0 and rule.iterations == 0:
        return WarmUpReport(iterations=0, duration_ms=0.0, ended_by="fixed"), frozen([])
    series = _Series()
    begin = perf_counter_ns()
    ended_by: Literal["steady", "limit"] = "steady"
    with _no_garbage_collection():
        while True:
            series.extend(step, _chunk(series, remaining=None))
            elapsed_ms = (perf_counter_ns() - begin) / 1e6
            limit_ms = max(rule.limit_ms, rule.time_ms)
            progress(_state("warm_up", series, elapsed_ms, limit_ms))
            if elapsed_ms < rule.time_ms or len(series) < rule.iterations:
                continue
            if is_steady(series.times_ms()):
                break
            if elapsed_ms >= limit_ms:
                ended_by = "limit"
                break
    report = WarmUpReport(
        iterations=len(series),
        duration_ms=elapsed_ms,
        ended_by=ended_by,
    )
    return report, frozen(series.times_ms())


def timed_loop(step: Step, rule: StopRule, progress: ProgressSink) -> tuple[StopReport, Samples]:
    """Time `step` until `rule` says enough.

    Returns
    -------
    report : StopReport
    samples : Samples
        Metric ``latency``; milliseconds, with the start of each iteration.
    """
    series = _Series()
    watch = _StopWatch(rule)
    begin = perf_counter_ns()
    with _no_garbage_collection():
        stopped_by: _RuleName | None = None
        while stopped_by is None:
            series.extend(step, _chunk(series, remaining=watch.remaining(len(series))))
            elapsed_ms = (perf_counter_ns() - begin) / 1e6
            stopped_by = watch.verdict(series, elapsed_ms)
            limits = (watch.limit_ms, watch.half_width_pct)
            progress(_state("steady_state", series, elapsed_ms, *limits))
    times = series.times_ms()
    starts = np.frombuffer(series.starts, dtype=np.int64)
    samples = Samples(
        metric="latency", values_ms=frozen(times), start_ms=frozen((starts - starts[0]) / 1e6)
    )
    interval = quantile_interval(times, 0.5)
    report = StopReport(
        rule=stopped_by,
        iterations=len(series),
        duration_ms=elapsed_ms,
        half_width_pct=interval.half_width_pct if interval else None,
    )
    return report, samples


class _StopWatch:
    """Applies a stop rule to a growing series."""

    def __init__(self, rule: StopRule) -> None:
        self.rule = rule
        self.half_width_pct: float | None = None
        self._next_look = rule.min_samples

    @property
    def limit_ms(self) -> float | None:
        if self.rule.iterations is not None:
            return None
        return self.rule.duration_ms or self.rule.max_time_ms

    def remaining(self, done: int) -> int | None:
        return None if self.rule.iterations is None else self.rule.iterations - done

    def verdict(self, series: _Series, elapsed_ms: float) -> _RuleName | None:
        rule, done = self.rule, len(series)
        if rule.iterations is not None:
            return "iterations" if done >= rule.iterations else None
        if rule.duration_ms is not None:
            return "duration" if elapsed_ms >= rule.duration_ms else None
        if done >= self._next_look and elapsed_ms >= rule.min_time_ms:
            self._next_look = int(done * LOOK_AGAIN) + 1
            if self._is_precise(series):
                return "precision"
        if elapsed_ms >= rule.max_time_ms and done >= rule.min_samples:
            return "max_time"
        return "hard_limit" if elapsed_ms >= rule.hard_limit_ms else None

    def _is_precise(self, series: _Series) -> bool:
        if self.rule.precision_pct is None:
            return False
        interval = quantile_interval(series.times_ms(), 0.5)
        self.half_width_pct = interval.half_width_pct if interval else None
        return self.half_width_pct is not None and self.half_width_pct <= self.rule.precision_pct


def _chunk(series: _Series, remaining: int | None) -> int:
    """Return how many iterations to run before looking up again."""
    if len(series) == 0:
        count = 1
    else:
        typical_ms = float(np.median(series.times_ms(200)))
        count = int(CHUNK_MS / max(typical_ms, 1e-4))
        count = max(1, min(count, 4 * len(series)))
    return count if remaining is None else max(0, min(count, remaining))


def _state(
    phase: str,
    series: _Series,
    elapsed_ms: float,
    limit_ms: float | None,
    half_width_pct: float | None = None,
) -> Progress:
    recent = series.times_ms(20_000)  # enough for a display, cheap for millions of samples
    return Progress(
        phase=phase,
        samples=len(series),
        median_ms=float(np.median(recent)) if recent.size else None,
        half_width_pct=half_width_pct,
        elapsed_ms=elapsed_ms,
        limit_ms=limit_ms,
    )
