"""Runs iterations and remembers when each began and how long it took."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from time import perf_counter_ns
from typing import Protocol

import numpy as np

from enginescope.records.samples import Array, Samples, frozen

Step = Callable[[], object]


class Recorder(Protocol):
    """Takes samples, a chunk at a time; the loop pauses between chunks."""

    def run(self, count: int, untimed: int = 0) -> None:
        """Take `count` more samples back to back, after `untimed` calls that it does not record."""

    def __len__(self) -> int:
        """Return the number of samples so far."""

    @property
    def issued(self) -> int:
        """Requests in all: those that were not timed, too."""

    def times_ms(self, last: int | None = None) -> Array:
        """Return the series that the stop rule looks at, or the last so many of it."""

    def samples(self) -> tuple[Samples, ...]:
        """Return everything that was recorded."""


class StepRecorder:
    """One call of a step between two readings of the clock.

    Args:
        step: One request, input to answer.
    """

    def __init__(self, step: Step) -> None:
        self._step = step
        self._starts = array("q")  # nanoseconds
        self._times = array("q")
        self.issued = 0

    def __len__(self) -> int:
        """Return the number of samples so far."""
        return len(self._times)

    def times_ms(self, last: int | None = None) -> Array:
        """Return the durations, or the last so many: between chunks only these are cheap."""
        times = np.frombuffer(self._times, dtype=np.int64)
        return (times if last is None else times[-last:]) / 1e6

    def run(self, count: int, untimed: int = 0) -> None:
        """Time `count` calls of the step, after `untimed` calls."""
        step = self._step
        self.issued += untimed + count
        starts = array("q", bytes(8 * count))
        times = array("q", bytes(8 * count))
        for _ in range(untimed):
            step()
        clock = perf_counter_ns
        for i in range(count):
            begin = clock()
            step()
            end = clock()
            starts[i] = begin
            times[i] = end - begin
        self._starts.extend(starts)
        self._times.extend(times)

    def samples(self) -> tuple[Samples, ...]:
        """Return metric ``latency``, with the start of each iteration."""
        starts = np.frombuffer(self._starts, dtype=np.int64)
        begun = (starts - starts[0]) / 1e6 if starts.size else starts
        times = Samples(metric="latency", values_ms=frozen(self.times_ms()), start_ms=frozen(begun))
        return (times,)
