"""The loops over an engine's requests: one in flight as in serving, and trtexec's queue.

``H2D, enqueue, D2H, wait`` between two readings of the host's clock. Events around each part are
read after the second reading, so that reading them costs the request nothing; recording them, some
microseconds in all, lies inside.

Flushing the L2 cache, so that a query finds none of its weights or inputs there.

Every query has a slot of six events; a lane has two slots, so that one query runs while the host
enqueues the other. Without copies a query is nothing but two event records, the launch and a wait:
what the interpreter adds stays below a few microseconds.
"""

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count as count_from
from time import perf_counter_ns, sleep
from typing import Any

import numpy as np

from enginescope.backends.loop import TimedRecorder
from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.backends.tensorrt.run.inference_stream import InferenceStream, Origin, refused
from enginescope.core.errors import BackendError
from enginescope.core.record import Record
from enginescope.judge.samples import Array, Samples, frozen
from enginescope.records.run.job import Mode
from enginescope.records.samples import QueryTrace


def flusher(cuda: Cuda, stream: Any) -> Callable[[], Any]:
    """Return a call that enqueues a write of twice the L2 cache's size on `stream`."""
    nbytes = 2 * cuda.l2_bytes(cuda.device)
    return partial(cuda.runtime.cudaMemsetAsync, cuda.device_buffer(nbytes), 0, nbytes, stream)


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


#: Untimed queries on each stream before a chunk.
PIPELINE_FILL = 2
#: Queries without copies between two pauses in which their events are read.
STRETCH = 1_000


class _Slot(Record, frozen=True, kw_only=True, eq=False):
    """The events of one query in flight."""

    h2d_start: Any
    h2d_end: Any
    compute_start: Any
    compute_end: Any
    d2h_start: Any
    d2h_end: Any


#: Columns of what is kept of a query, all milliseconds but the first.
_COLUMNS = ("stream", "enqueue_start", "enqueue_end", *_Slot.__struct_fields__)


class ThroughputRecorder:
    """Takes queries of one lane or several, enqueued ahead.

    Args:
        mode: As resolved: nothing in it is ``None``.
        origin: What stamps count from; one for warm-up and timing.
        stamps: Keep when each part of each query began and ended, on one clock. It costs four more
            readings of events a query.

    Attributes:
        wall_ms: GPU time that the timed queries span, the pauses between stretches left out.
    """

    def __init__(
        self,
        cuda: Cuda,
        lanes: Sequence[InferenceStream],
        mode: Mode,
        origin: Origin,
        *,
        stamps: bool,
    ) -> None:
        self._cuda = cuda
        self._lanes = tuple(lanes)
        self._mode = mode
        self._stamps = stamps
        self._slots = tuple(
            tuple(self._slot() for _ in range(mode.in_flight or 2)) for _ in self._lanes
        )
        self._wall_start = cuda.event(spin=bool(mode.spin_wait))
        self._origin = origin
        self._flushes = [flusher(cuda, lane.compute_stream) for lane in lanes] if mode.cold else []
        self._enqueue_starts = array("q")  # nanoseconds
        self._enqueue_ends = array("q")
        self._compute = array("d")  # milliseconds
        self._h2d = array("d")
        self._d2h = array("d")
        self._pairs: list[tuple[Any, Any]] = []  # begin and end of a query without copies
        self._trace = {name: array("d") for name in _COLUMNS}
        self.wall_ms = 0.0
        self.issued = 0
        self._ended_ms: float | None = None
        self._paused_ms = 0.0

    def _slot(self) -> _Slot:
        spin = bool(self._mode.spin_wait)
        return _Slot(**{name: self._cuda.event(spin=spin) for name in _Slot.__struct_fields__})

    def __len__(self) -> int:
        return len(self._compute)

    def times_ms(self, last: int | None = None) -> Array:
        """Return the GPU compute times, or the last so many."""
        times = np.frombuffer(self._compute, dtype=np.float64)
        return np.array(times if last is None else times[-last:])  # a view would forbid growing

    def run(self, count: int, untimed: int = 0) -> None:  # noqa: ARG002 - of the protocol
        """Take `count` queries in one chunk, after `PIPELINE_FILL` untimed ones on each stream.

        The GPU's clock times the queries, so a pause of the host slows none of them.
        """
        self.issued += count + PIPELINE_FILL * len(self._lanes)
        if self._is_bare:
            self._run_bare(count)
        else:
            self._run_any(count)

    @property
    def _is_bare(self) -> bool:
        mode = self._mode
        one = len(self._lanes) == 1 and len(self._lanes[0].launches) == 1 and mode.in_flight == 2
        return one and not (mode.transfers or mode.idle_ms or mode.cold or self._stamps)

    def _run_bare(self, count: int) -> None:
        """Take queries of one lane without copies: the loop that small engines are bound by.

        Each query of a stretch has events of its own, which are read after the stretch: reading
        them takes the host part of a microsecond a query.
        """
        while len(self._pairs) < min(count, STRETCH) + PIPELINE_FILL:
            spin = bool(self._mode.spin_wait)
            self._pairs.append((self._cuda.event(spin=spin), self._cuda.event(spin=spin)))
        for begun in range(0, count, STRETCH):
            self._take_stretch(self._pairs[: min(STRETCH, count - begun) + PIPELINE_FILL])

    def _take_stretch(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        rt, clock, lane = self._cuda.runtime, perf_counter_ns, self._lanes[0]
        record, wait, elapsed = rt.cudaEventRecord, rt.cudaEventSynchronize, rt.cudaEventElapsedTime
        stream = lane.compute_stream
        launch, arguments = lane.launches[0]
        ask, accept = self._enqueue_starts.append, self._enqueue_ends.append
        for begin, end in pairs[:PIPELINE_FILL]:  # the last is in flight when the first one counts
            record(begin, stream)
            launch(*arguments)
            record(end, stream)
        record(self._wall_start, stream)
        before = pairs[PIPELINE_FILL - 1][1]
        for begin, end in pairs[PIPELINE_FILL:]:
            record(begin, stream)
            asked = clock()
            answer = launch(*arguments)
            accepted = clock()
            record(end, stream)
            ask(asked)
            accept(accepted)
            # `refused`, written out: a call less, where a query takes ten microseconds
            failed = answer is not True and (answer is False or answer[0])
            if wait(before)[0] or failed:
                raise self._failure(lane, before)
            before = end
        if wait(before)[0]:
            raise self._failure(lane, before)
        self.wall_ms += self._cuda.check(elapsed(self._wall_start, before), "reading an event")
        self._compute.extend(elapsed(begin, end)[1] for begin, end in pairs[PIPELINE_FILL:])

    def loop_ms(self) -> float | None:
        """Return the host's time for one query of the bare loop without its launch: the median.

        ``None`` where another loop took the queries. The stream must be idle.
        """
        if not self._is_bare:
            return None
        rt, clock, stream = self._cuda.runtime, perf_counter_ns, self._lanes[0].compute_stream
        (begin, end), (_, before) = self._pairs[:2]
        times = []
        for _ in range(200):
            started = clock()
            rt.cudaEventRecord(begin, stream)
            clock()
            clock()
            rt.cudaEventRecord(end, stream)
            rt.cudaEventSynchronize(before)
            times.append((clock() - started) / 1e6)
            rt.cudaStreamSynchronize(stream)
        return float(np.median(times))

    def _failure(self, lane: InferenceStream, event: Any) -> BaseException:
        if error := self._cuda.runtime.cudaEventSynchronize(event)[0]:
            return BackendError("running the engine", why=self._cuda.error_name(error))
        return lane.failure()

    def _run_any(self, count: int) -> None:
        """Take queries with copies, several lanes, pauses, flushes or stamps."""
        depth, lanes = self._mode.in_flight or 2, range(len(self._lanes))
        turns = depth * len(self._lanes[0].launches)
        issue = [[self._issuer(lane, turn) for turn in range(turns)] for lane in lanes]
        collect = [[self._collector(lane, turn % depth) for turn in range(turns)] for lane in lanes]
        rounds = -(-count // len(self._lanes))
        idle_s = (self._mode.idle_ms or 0.0) / 1e3
        pending: list[tuple[int, int, tuple[int, int]]] = []  # lane, turn, host stamps
        numbers = count_from(-PIPELINE_FILL * len(self._lanes))

        def take() -> Any:
            lane, turn, stamps = pending.pop(0)
            return collect[lane][turn](stamps if next(numbers) >= 0 else None)

        begin = len(self._trace["stream"])
        wall_end: Any = None
        for number in range(PIPELINE_FILL + rounds):
            if number == PIPELINE_FILL:
                rt, stream = self._cuda.runtime, self._lanes[0].compute_stream
                self._cuda.check(rt.cudaEventRecord(self._wall_start, stream), "recording an event")
            turn = number % turns
            wanted = count - (number - PIPELINE_FILL) * len(lanes)  # the last round may need fewer
            pending += [(lane, turn, issue[lane][turn]()) for lane in lanes[: max(wanted, 0)]]
            while len(pending) > (depth - 1) * len(self._lanes):
                wall_end = take()
            if idle_s and number >= PIPELINE_FILL:
                sleep(idle_s)
        while pending:
            wall_end = take()
        self._close_gap(wall_end, begin)

    def _close_gap(self, wall_end: Any, begin: int) -> None:
        """Add a stretch's time to the whole, and move its stamps to where the last one ended.

        What lies between two stretches is our own pause; with it in them, the stamps would say
        less than was put through.
        """
        self.wall_ms += self._elapsed(self._wall_start, wall_end)
        if not self._stamps:
            return
        started = self._elapsed(self._origin.event, self._wall_start)
        if self._ended_ms is not None:
            self._paused_ms += started - self._ended_ms
            for name in _COLUMNS[1:]:
                np.frombuffer(self._trace[name], dtype=np.float64)[begin:] -= self._paused_ms
        self._ended_ms = self._elapsed(self._origin.event, wall_end)

    def _elapsed(self, begin: Any, end: Any) -> float:
        elapsed = self._cuda.runtime.cudaEventElapsedTime(begin, end)
        return float(self._cuda.check(elapsed, "reading an event"))

    def _issuer(self, index: int, turn: int) -> Callable[[], tuple[int, int]]:
        """Return a call that enqueues one query and says when the host did so."""
        lane, rt, clock = self._lanes[index], self._cuda.runtime, perf_counter_ns
        slot = self._slots[index][turn % len(self._slots[index])]
        which = turn % len(lane.launches)
        record, follow = rt.cudaEventRecord, rt.cudaStreamWaitEvent
        launch, arguments = lane.launches[which]
        transfers = bool(self._mode.transfers)
        h2d = lane.h2d(which) if transfers else []
        d2h = lane.d2h() if transfers else []
        flush = self._flushes[index] if self._flushes else None
        fed, computing, answering = lane.input_stream, lane.compute_stream, lane.output_stream

        def issue() -> tuple[int, int]:
            if transfers:
                record(slot.h2d_start, fed)
                for copy in h2d:
                    copy()
                record(slot.h2d_end, fed)
                follow(computing, slot.h2d_end, 0)
            if flush is not None:
                flush()
            record(slot.compute_start, computing)
            asked = clock()
            answer = launch(*arguments)
            accepted = clock()
            record(slot.compute_end, computing)
            if refused(answer):
                raise lane.failure()
            if transfers:
                follow(answering, slot.compute_end, 0)
                record(slot.d2h_start, answering)
                for copy in d2h:
                    copy()
                record(slot.d2h_end, answering)
            return asked, accepted

        return issue

    def _collector(self, index: int, which: int) -> Callable[[tuple[int, int] | None], Any]:
        """Return a call that waits for the query of a slot, keeps it, and gives its last event."""
        lane, slot = self._lanes[index], self._slots[index][which]
        rt, transfers = self._cuda.runtime, bool(self._mode.transfers)
        wait, elapsed = rt.cudaEventSynchronize, rt.cudaEventElapsedTime
        last = slot.d2h_end if transfers else slot.compute_end

        def collect(stamps: tuple[int, int] | None) -> Any:
            if wait(last)[0]:
                raise self._failure(lane, last)
            if stamps is not None:
                self._compute.append(elapsed(slot.compute_start, slot.compute_end)[1])
                if transfers:
                    self._h2d.append(elapsed(slot.h2d_start, slot.h2d_end)[1])
                    self._d2h.append(elapsed(slot.d2h_start, slot.d2h_end)[1])
                self._enqueue_starts.append(stamps[0])
                self._enqueue_ends.append(stamps[1])
                if self._stamps:
                    self._stamp(index, slot, stamps)
            return last

        return collect

    def _stamp(self, index: int, slot: _Slot, stamps: tuple[int, int]) -> None:
        row, origin = self._trace, self._origin
        row["stream"].append(index)
        for name, value in zip(("enqueue_start", "enqueue_end"), stamps, strict=True):
            row[name].append((value - origin.ns) / 1e6)
        begin = self._elapsed(origin.event, slot.compute_start)
        end = begin + self._compute[-1]
        fed = fed_end = begin
        answering = answered = end
        if self._mode.transfers:
            fed = self._elapsed(origin.event, slot.h2d_start)
            fed_end = fed + self._h2d[-1]
            answering = self._elapsed(origin.event, slot.d2h_start)
            answered = answering + self._d2h[-1]
        stamped = (fed, fed_end, begin, end, answering, answered)
        for name, moment in zip(_COLUMNS[3:], stamped, strict=True):
            row[name].append(moment)

    def samples(self) -> tuple[Samples, ...]:
        """Return latency as trtexec sums it, enqueue, and each part on the GPU's clock."""
        asked = np.frombuffer(self._enqueue_starts, dtype=np.int64)
        accepted = np.frombuffer(self._enqueue_ends, dtype=np.int64)
        begun = frozen((asked - asked[0]) / 1e6 if asked.size else asked)
        compute = np.frombuffer(self._compute, dtype=np.float64)
        series: dict[str, Any] = {"gpu_compute": compute, "enqueue": (accepted - asked) / 1e6}
        whole = compute
        if self._mode.transfers:
            series["h2d"] = np.frombuffer(self._h2d, dtype=np.float64)
            series["d2h"] = np.frombuffer(self._d2h, dtype=np.float64)
            whole = series["h2d"] + compute + series["d2h"]
        return tuple(
            Samples(metric=metric, values_ms=frozen(values), start_ms=begun)
            for metric, values in {"trtexec_latency": whole, **series}.items()
        )

    def trace(self) -> QueryTrace | None:
        """Return the stamps of each query, if they were asked for."""
        if not self._stamps:
            return None
        return QueryTrace(**{name: frozen(values) for name, values in self._trace.items()})
