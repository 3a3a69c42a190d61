"""The measurement loop: warm-up, timed loop, stop rule.

A recorder takes the samples, a chunk at a time. Statistics, progress and the stop rule run between
chunks, never inside one; calls that nobody times follow each such pause.

Runs iterations and remembers when each began and how long it took.
"""

from __future__ import annotations

import gc
import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from threading import Barrier, BrokenBarrierError, Thread
from time import perf_counter_ns
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from enginescope.backends.base import ProgressSink
from enginescope.core.process_control import gc_paused
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array, Samples, frozen
from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.judge.stats.warmup import is_steady
from enginescope.records.progress import Progress
from enginescope.records.run.job import StopRule, WarmUp
from enginescope.records.run.run import StopReport, WarmUpReport

T = TypeVar("T")
Step = Callable[[], object]


def clocked(work: Callable[[], T]) -> tuple[T, float]:
    """Return what `work` returns, and its time in ms."""
    begin = perf_counter_ns()
    return work(), (perf_counter_ns() - begin) / 1e6


class Recorder(Protocol):
    """Takes samples, a chunk at a time; the loop pauses between chunks."""

    def run(self, count: int, untimed: int = 0) -> None:
        """Take `count` more samples back to back, after `untimed` calls that it does not record."""

    def __len__(self) -> int:
        """Return the number of samples so far."""

    @property
    def issued(self) -> int:
        """Requests in all: those that were not timed, too."""

    @property
    def wall_ms(self) -> float:
        """Time that the timed requests span, without the pauses between chunks."""

    def times_ms(self, last: int | None = None) -> Array:
        """Return the series that the stop rule looks at, or the last so many of it."""

    def samples(self) -> tuple[Samples, ...]:
        """Return everything that was recorded."""


class TimedRecorder:
    """Keeps when each request began and what it took, in nanoseconds."""

    def __init__(self) -> None:
        self._starts = array("q")
        self._times = array("q")
        self.issued = 0
        self.wall_ms = 0.0

    def __len__(self) -> int:
        return len(self._times)

    def times_ms(self, last: int | None = None) -> Array:
        """Return the durations, or the last so many: between chunks only these are cheap."""
        times = np.frombuffer(self._times, dtype=np.int64)
        return (times if last is None else times[-last:]) / 1e6

    def _extend(self, rows: Array) -> None:
        """Add requests: the first columns are start and end, in nanoseconds."""
        extend(self._starts, rows[:, 0])
        extend(self._times, rows[:, 1] - rows[:, 0])

    def _series(self, values_ms: Mapping[str, Any]) -> tuple[Samples, ...]:
        """Return samples by metric, with the start of each request since the first one."""
        starts = np.frombuffer(self._starts, dtype=np.int64)
        begun = frozen((starts - starts[0]) / 1e6 if starts.size else starts)
        return tuple(
            Samples(metric=metric, values_ms=frozen(values), start_ms=begun)
            for metric, values in values_ms.items()
        )

    def samples(self) -> tuple[Samples, ...]:
        """Return metric ``latency``, in the order of the starts."""
        return self._series({"latency": self.times_ms()})


def extend(values: array[Any], column: Array) -> None:
    """Append a column to an array of eight-byte items."""
    values.frombytes(np.ascontiguousarray(column).tobytes())


class StepRecorder(TimedRecorder):
    """One call of a step between two readings of the clock.

    Args:
        step: One request, input to answer.
    """

    def __init__(self, step: Step) -> None:
        super().__init__()
        self._step = step

    def run(self, count: int, untimed: int = 0) -> None:
        step = self._step
        self.issued += untimed + count
        starts = array("q", bytes(8 * count))
        times = array("q", bytes(8 * count))
        for _ in range(untimed):
            step()
        clock = perf_counter_ns
        first = clock()
        for i in range(count):
            begin = clock()
            step()
            end = clock()
            starts[i] = begin
            times[i] = end - begin
        self.wall_ms += (clock() - first) / 1e6
        self._starts.extend(starts)
        self._times.extend(times)


class _Taken:
    """What one thread timed of a chunk, in nanoseconds, and why it ended early."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")
        self.error: BaseException | None = None


class ThreadsRecorder(TimedRecorder):
    """Takes requests with as many in flight as there are steps.

    Args:
        steps: One for each thread; each has tensors of its own.

    Attributes:
        wall_ms: From the mean first start of the threads to their mean last end, over all chunks. A
            thread that finds no further request idles until the slowest one ends.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__()
        self._steps = tuple(steps)
        self.in_flight = len(self._steps)

    def run(self, count: int, untimed: int = 0) -> None:
        self.issued += count + untimed * len(self._steps)
        numbers, gate = iter(range(count)), Barrier(len(self._steps))
        taken = [_Taken() for _ in self._steps]
        threads = [
            Thread(target=_take, args=(step, untimed, gate, numbers, times), daemon=True)
            for step, times in zip(self._steps, taken, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for times in taken:
            if times.error is not None and not isinstance(times.error, BrokenBarrierError):
                raise times.error
        each = (zip(times.starts, times.ends, strict=True) for times in taken)
        self._extend(np.array(sorted(chain.from_iterable(each)), np.int64).reshape(-1, 2))

    def _extend(self, rows: Array) -> None:
        """Add requests in the order of their starts, and their share of `wall_ms`."""
        super()._extend(rows)
        if len(rows):
            threads = min(len(rows), self.in_flight)
            ends = np.sort(rows[:, 1])[-threads:]
            self.wall_ms += float((ends - rows[:threads, 0]).mean()) / 1e6


def _take(step: Step, untimed: int, gate: Barrier, numbers: Iterator[int], taken: _Taken) -> None:
    """Time requests until the chunk has no further one; all threads begin together."""
    start, end, clock = taken.starts.append, taken.ends.append, perf_counter_ns
    try:
        for _ in range(untimed):
            step()
        gate.wait()
        for _ in numbers:  # shared: `next` of a range gives each number to one thread
            start(clock())
            step()
            end(clock())
    except Exception as error:  # noqa: BLE001 - the thread that waits raises it again
        taken.error = error
        gate.abort()


_RuleName = Literal["iterations", "duration", "precision", "max_time", "hard_limit"]

#: Duration of a chunk: short enough for a live display and a time limit.
CHUNK_MS = 100.0
#: Duration of the untimed calls before a chunk. The first call after a pause takes up to 0.3 ms
#: longer, and calls of some microseconds are slow for 20 calls (docs/explanation/measurement.md).
UNTIMED_MS = 2.0
#: Longer requests get no untimed calls: one would cost a tenth of a chunk, or more.
LONGEST_UNTIMED_MS = 10.0
#: The precision rule looks again only when the samples have grown by this factor: fewer looks
#: bias it less, and the cost of looking stays small beside the cost of measuring.
LOOK_AGAIN = 1.25


def warm_up(series: Recorder, rule: WarmUp, progress: ProgressSink) -> WarmUpReport:
    """Run until `rule`'s time and count are reached and the times are steady.

    The garbage collector runs before the first request, so that nothing slow lies between the last
    request of the warm-up and the first timed one. The samples of `series` stay apart from the
    timed ones.
    """
    gc.collect()
    if rule.time_ms == 0 and rule.iterations == 0:
        return WarmUpReport(iterations=0, duration_ms=0.0, ended_by="fixed")
    begin = perf_counter_ns()
    with gc_paused():
        while True:
            series.run(*next_chunk(series))
            elapsed_ms = (perf_counter_ns() - begin) / 1e6
            limit_ms = max(rule.limit_ms, rule.time_ms)
            progress(loop_state("warm_up", series, elapsed_ms, limit_ms))
            if elapsed_ms < rule.time_ms or len(series) < rule.iterations:
                continue
            steady = is_steady(series.times_ms())
            if steady or elapsed_ms >= limit_ms:
                break
    ended_by: Literal["steady", "limit"] = "steady" if steady else "limit"
    return WarmUpReport(iterations=len(series), duration_ms=elapsed_ms, ended_by=ended_by)


def timed_loop(
    series: Recorder, rule: StopRule, progress: ProgressSink, warming: Recorder | None = None
) -> StopReport:
    """Take samples until `rule` ends the loop.

    Args:
        warming: The recorder of the warm-up: its times set the size of the first chunk.
    """
    watch = _StopWatch(rule)
    begin = perf_counter_ns()
    with gc_paused():
        stopped_by: _RuleName | None = None
        while stopped_by is None:
            before = series if len(series) else warming or series
            series.run(*next_chunk(before, watch.remaining(len(series))))
            elapsed_ms = (perf_counter_ns() - begin) / 1e6
            stopped_by = watch.verdict(series, elapsed_ms)
            limits = (watch.limit_ms, watch.half_width_pct)
            progress(loop_state("steady_state", series, elapsed_ms, *limits))
    interval = quantile_interval(series.times_ms(), 0.5)
    return StopReport(
        rule=stopped_by,
        iterations=len(series),
        duration_ms=elapsed_ms,
        half_width_pct=interval.half_width_pct if interval else None,
    )


class _StopWatch:
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
            enough = series.wall_ms >= rule.duration_ms and done >= rule.min_iterations
            return "duration" if enough else None
        if done >= self._next_look and elapsed_ms >= rule.min_time_ms:
            self._next_look = int(done * LOOK_AGAIN) + 1
            interval = quantile_interval(series.times_ms(), 0.5) if rule.precision_pct else None
            self.half_width_pct = interval.half_width_pct if interval else None
            if self.half_width_pct is not None and self.half_width_pct <= (rule.precision_pct or 0):
                return "precision"
        if elapsed_ms >= rule.max_time_ms and done >= rule.min_samples:
            return "max_time"
        return "hard_limit" if elapsed_ms >= rule.hard_limit_ms else None


def next_chunk(series: Recorder, remaining: int | None = None) -> tuple[int, int]:
    """Return how many calls of the next chunk to time, and how many to run untimed before them.

    Args:
        series: Times so far; without any, the chunk is one timed call.
        remaining: Calls that may still be timed.
    """
    count = 1
    untimed = 0
    if len(series):
        typical_ms = max(float(np.median(series.times_ms(200))), 1e-4)
        in_flight = series.in_flight if isinstance(series, ThreadsRecorder) else 1
        count = in_flight * max(1, min(int(CHUNK_MS / typical_ms), 4 * len(series)))
        untimed = math.ceil(UNTIMED_MS / typical_ms) if typical_ms <= LONGEST_UNTIMED_MS else 0
    return count if remaining is None else max(0, min(count, remaining)), untimed


def loop_state(
    phase: str,
    series: Recorder,
    elapsed_ms: float,
    limit_ms: float | None,
    half_width_pct: float | None = None,
) -> Progress:
    """Return where a loop stands, with the median of its last samples."""
    recent = series.times_ms(20_000)  # enough for a display, cheap for millions of samples
    return Progress(
        phase=phase,
        samples=len(series),
        median_ms=float(np.median(recent)) if recent.size else None,
        half_width_pct=half_width_pct,
        elapsed_ms=elapsed_ms,
        limit_ms=limit_ms,
    )


def with_warm_up(recorder: Recorder, warming: Recorder) -> tuple[Samples, ...]:
    """Return the samples of `recorder`, each with what `warming` took of the same metric."""
    before = {one.metric: one.values_ms for one in warming.samples()}
    return tuple(replace(one, warmup_ms=before.get(one.metric)) for one in recorder.samples())


#: Larger outputs are not read: the copy would show in the memory of the process.
MOST_BYTES = 16 << 20


class OutputLook:
    """Compares the outputs of two requests with the same inputs.

    Args:
        first: The outputs of the first request, by name; they are copied.
    """

    def __init__(self, first: Mapping[str, Any]) -> None:
        self._first = {name: np.array(values) for name, values in first.items()}

    def notices(self, last: Mapping[str, Any]) -> tuple[Notice, ...]:
        """Return a notice for each kind of fault, with the names of the outputs.

        Args:
            last: The outputs of the last request.
        """
        faults: dict[str, list[str]] = {}
        for name, output in last.items():
            for fault in _faults(np.asarray(output), self._first.get(name)):
                faults.setdefault(fault, []).append(name)
        return tuple(_notice(fault, names) for fault, names in faults.items())


_TEXTS = {
    "nan": "NaN in every value",
    "infinite": "infinite values",
    "zero": "0 in every value",
    "changing": "other values for the same input at the end than at the start",
}


def _faults(values: Any, before: Any | None) -> Iterator[str]:
    if not values.size or values.dtype.kind not in "fiu":
        return
    if values.dtype.kind == "f":
        if np.isnan(values).all():
            yield "nan"
        elif np.isinf(values).any():
            yield "infinite"
    if not values.any():
        yield "zero"
    if before is not None and before.shape == values.shape:
        is_same = np.array_equal(before, values, equal_nan=values.dtype.kind == "f")
        if not is_same and not np.allclose(before, values, rtol=1e-2, atol=1e-6, equal_nan=True):
            yield "changing"


def _notice(fault: str, names: Sequence[str]) -> Notice:
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    outputs = "output" if len(names) == 1 else "outputs"
    message = f"{outputs} {shown}: {_TEXTS[fault]}; check the model with enginescope validate"
    return Notice("W-OUTPUTS", message, {"fault": fault, "outputs": list(names)})
