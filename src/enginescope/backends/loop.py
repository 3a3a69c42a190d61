"""The measurement loop: warm-up, timed loop, stop rule.

A recorder takes the samples, a chunk at a time. Statistics, progress and the stop rule run between
chunks of the loop, never inside one.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Literal

import numpy as np

from enginescope.backends.base import Progress, ProgressSink
from enginescope.backends.recorder import Recorder
from enginescope.core.paused_collection import paused_collection
from enginescope.model.job import StopRule, WarmUp
from enginescope.model.run import StopReport, WarmUpReport
from enginescope.stats.bootstrap import quantile_interval
from enginescope.stats.warmup import is_steady

_RuleName = Literal["iterations", "duration", "precision", "max_time", "hard_limit"]

#: A chunk of the loop lasts about this long: short enough for a live display and for a time limit,
#: long enough that what happens between chunks is rare.
CHUNK_MS = 100.0
#: The precision rule looks again only when the samples have grown by this factor: fewer looks
#: bias it less, and the cost of looking stays small beside the cost of measuring.
LOOK_AGAIN = 1.25


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Keep the interpreter's collector from running inside a timed iteration, or soon after."""
    gc.collect()
    with paused_collection():
        yield


def warm_up(series: Recorder, rule: WarmUp, progress: ProgressSink) -> WarmUpReport:
    """Run until `rule`'s time and count are reached and the times are steady.

    What `series` takes meanwhile is kept, and never mixed with the samples.
    """
    if rule.time_ms == 0 and rule.iterations == 0:
        return WarmUpReport(iterations=0, duration_ms=0.0, ended_by="fixed")
    begin = perf_counter_ns()
    ended_by: Literal["steady", "limit"] = "steady"
    with _no_garbage_collection():
        while True:
            series.run(_chunk(series, remaining=None))
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
    return WarmUpReport(iterations=len(series), duration_ms=elapsed_ms, ended_by=ended_by)


def timed_loop(series: Recorder, rule: StopRule, progress: ProgressSink) -> StopReport:
    """Take samples until `rule` says enough."""
    watch = _StopWatch(rule)
    begin = perf_counter_ns()
    with _no_garbage_collection():
        stopped_by: _RuleName | None = None
        while stopped_by is None:
            series.run(_chunk(series, remaining=watch.remaining(len(series))))
            elapsed_ms = (perf_counter_ns() - begin) / 1e6
            stopped_by = watch.verdict(series, elapsed_ms)
            limits = (watch.limit_ms, watch.half_width_pct)
            progress(_state("steady_state", series, elapsed_ms, *limits))
    interval = quantile_interval(series.times_ms(), 0.5)
    return StopReport(
        rule=stopped_by,
        iterations=len(series),
        duration_ms=elapsed_ms,
        half_width_pct=interval.half_width_pct if interval else None,
    )


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

    def verdict(self, series: Recorder, elapsed_ms: float) -> _RuleName | None:
        rule, done = self.rule, len(series)
        if rule.iterations is not None:
            return "iterations" if done >= rule.iterations else None
        if rule.duration_ms is not None:
            enough = elapsed_ms >= rule.duration_ms and done >= rule.min_iterations
            return "duration" if enough else None
        if done >= self._next_look and elapsed_ms >= rule.min_time_ms:
            self._next_look = int(done * LOOK_AGAIN) + 1
            if self._is_precise(series):
                return "precision"
        if elapsed_ms >= rule.max_time_ms and done >= rule.min_samples:
            return "max_time"
        return "hard_limit" if elapsed_ms >= rule.hard_limit_ms else None

    def _is_precise(self, series: Recorder) -> bool:
        if self.rule.precision_pct is None:
            return False
        interval = quantile_interval(series.times_ms(), 0.5)
        self.half_width_pct = interval.half_width_pct if interval else None
        return self.half_width_pct is not None and self.half_width_pct <= self.rule.precision_pct


def _chunk(series: Recorder, remaining: int | None) -> int:
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
    series: Recorder,
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
