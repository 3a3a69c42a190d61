"""Several requests in flight: threads that share a session and the work of a chunk."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from threading import Barrier, BrokenBarrierError, Thread
from time import perf_counter_ns

import numpy as np

from enginescope.backends.loop import Step
from enginescope.judge.samples import Array, Samples, frozen


class _Taken:
    """What one thread timed of a chunk, in nanoseconds, and why it ended early."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")
        self.error: BaseException | None = None


class ThreadsRecorder:
    """Takes requests with as many in flight as there are steps.

    Args:
        steps: One for each thread; each has tensors of its own.

    Attributes:
        wall_ms: From the first start of a chunk to its last end, over all chunks.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)
        self._starts: list[int] = []
        self._times: list[int] = []
        self.issued = 0
        self.wall_ms = 0.0

    def __len__(self) -> int:
        """Return the number of samples so far."""
        return len(self._times)

    def times_ms(self, last: int | None = None) -> Array:
        """Return the times of the requests by their start, or the last so many."""
        times = self._times if last is None else self._times[-last:]
        return np.array(times, dtype=np.int64) / 1e6

    def run(self, count: int, untimed: int = 0) -> None:
        """Take `count` requests over all threads, after `untimed` requests in each."""
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
        errors = [times.error for times in taken if times.error is not None]
        for error in errors:
            if not isinstance(error, BrokenBarrierError):
                raise error
        each = (zip(times.starts, times.ends, strict=True) for times in taken)
        pairs = sorted(chain.from_iterable(each))
        self._starts += [start for start, _ in pairs]
        self._times += [end - start for start, end in pairs]
        if pairs:
            self.wall_ms += (max(end for _, end in pairs) - pairs[0][0]) / 1e6

    def samples(self) -> tuple[Samples, ...]:
        """Return metric ``latency``, in the order of the starts."""
        starts = np.array(self._starts, dtype=np.int64)
        begun = frozen((starts - starts[0]) / 1e6 if starts.size else starts)
        return (Samples(metric="latency", values_ms=frozen(self.times_ms()), start_ms=begun),)


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
