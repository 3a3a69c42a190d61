"""The serving loop: one request in flight, copies and all, timed by the wall clock.

``H2D, enqueue, D2H, wait`` between two readings of the host's clock. Events around each part are
read after the second reading, so that reading them costs the request nothing; recording them, some
microseconds in all, lies inside.

Flushing the L2 cache, so that a query finds none of its weights or inputs there.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns, sleep
from typing import Any

import numpy as np

from enginescope.backends.loop import TimedRecorder
from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.backends.tensorrt.run.inference_stream import InferenceStream, refused
from enginescope.core.errors import BackendError
from enginescope.judge.samples import Samples
from enginescope.records.run.job import Mode


def flusher(cuda: Cuda, stream: Any) -> Callable[[], Any]:
    """Return a call that enqueues a write of twice the L2 cache's size on `stream`."""
    nbytes = 2 * cuda.facts(cuda.device).l2_bytes
    address = cuda.device_buffer(nbytes)
    return partial(cuda.runtime.cudaMemsetAsync, address, 0, nbytes, stream)


_PARTS = ("h2d", "gpu_compute", "d2h")


class LatencyRecorder(TimedRecorder):
    """Takes round trips of one lane.

    Args:
        mode: As resolved: nothing in it is ``None``.
    """

    def __init__(self, cuda: Cuda, lane: InferenceStream, mode: Mode) -> None:
        super().__init__()
        self._cuda = cuda
        self._lane = lane
        self._spin = bool(mode.spin_wait)
        self._idle_s = (mode.idle_ms or 0.0) / 1e3
        self._flush = flusher(cuda, lane.compute_stream) if mode.cold else None
        self._transfers = bool(mode.transfers)
        self._events = [cuda.event(spin=self._spin) for _ in range(4)]
        self._enqueues = array("q")  # nanoseconds
        self._parts = {name: array("d") for name in _PARTS}  # milliseconds
        self._turn = 0

    def run(self, count: int, untimed: int = 0) -> None:
        self.issued += untimed + count
        requests = [self._request(index) for index in range(len(self._lane.launches))]
        for _ in range(untimed):
            self._lane.request()
        first = perf_counter_ns()
        for _ in range(count):
            if self._idle_s:
                sleep(self._idle_s)
            if self._flush is not None:
                self._flush()
                self._cuda.wait(self._lane.compute_stream, "flushing the L2 cache")
            requests[self._turn]()
            self._turn = (self._turn + 1) % len(requests)
        self.wall_ms += (perf_counter_ns() - first) / 1e6

    def _request(self, index: int) -> Callable[[], None]:
        """Return one request, timed and kept; everything it needs is looked up beforehand."""
        lane, rt, clock = self._lane, self._cuda.runtime, perf_counter_ns
        record, wait, stream = rt.cudaEventRecord, rt.cudaEventSynchronize, lane.compute_stream
        begin, fed, done, end = self._events
        h2d = lane.h2d(index) if self._transfers else []
        d2h = lane.d2h() if self._transfers else []
        launch, arguments = lane.launches[index]
        starts, times, enqueues = self._starts.append, self._times.append, self._enqueues.append
        keep_parts = self._keep_parts

        def request() -> None:
            started = clock()
            record(begin, stream)
            for copy in h2d:
                copy()
            record(fed, stream)
            asked = clock()
            answer = launch(*arguments)
            accepted = clock()
            record(done, stream)
            for copy in d2h:
                copy()
            record(end, stream)
            error = wait(end)[0]
            answered = clock()
            if refused(answer):
                raise lane.failure()
            if error:
                raise BackendError("running the engine", why=self._cuda.error_name(error))
            starts(started)
            times(answered - started)
            enqueues(accepted - asked)
            keep_parts()

        return request

    def _keep_parts(self) -> None:
        begin, fed, done, end = self._events
        elapsed, check = self._cuda.runtime.cudaEventElapsedTime, self._cuda.check
        for name, first, second in zip(_PARTS, (begin, fed, done), (fed, done, end), strict=True):
            self._parts[name].append(check(elapsed(first, second), "reading an event"))

    def samples(self) -> tuple[Samples, ...]:
        """Return round trip, enqueue and, where there are copies, each part on the GPU's clock."""
        series: dict[str, Any] = {
            "latency": self.times_ms(),
            "enqueue": np.frombuffer(self._enqueues, dtype=np.int64) / 1e6,
            **self._parts,
        }
        if not self._transfers:
            del series["h2d"], series["d2h"]
        return self._series(series)
