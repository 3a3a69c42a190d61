"""The recorders of an engine's CUDA graph, with their calls made in C.

The order of the calls is that of the recorders in Python, which stay as the reference.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from enginescope.backends.loop import extend
from enginescope.backends.native_loop import Call, Kind, Program, Turn, milliseconds
from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.backends.tensorrt.run import request_loops
from enginescope.backends.tensorrt.run.inference_stream import InferenceStream, Origin
from enginescope.judge.samples import Array
from enginescope.records.run.job import Mode


def _copies(kind: Kind, calls: Sequence[Callable[[], Any]]) -> Iterator[Call]:
    """Yield the copies that the recorders in Python call: target, source, size, stream."""
    for call in calls:
        assert isinstance(call, partial)
        to, source, nbytes, _, stream = call.args
        yield kind, to, source, nbytes, int(stream)


def _flush(call: Callable[[], Any]) -> Call:
    assert isinstance(call, partial)
    address, value, nbytes, stream = call.args
    return Kind.FILL, address, value, nbytes, int(stream)


def _launch(lane: InferenceStream, which: int) -> Call:
    graph, stream = lane.launches[which][1]
    return Kind.LAUNCH, int(graph), int(stream)


def _error_name(cuda: Cuda) -> Callable[[int], str]:
    return lambda number: cuda.error_name(cuda.runtime.cudaError_t(number))


class NativeThroughput(request_loops.ThroughputRecorder):
    """Takes queries that are enqueued ahead, in C."""

    def __init__(
        self,
        cuda: Cuda,
        lanes: Sequence[InferenceStream],
        mode: Mode,
        origin: Origin,
        *,
        stamps: bool,
        context: int,
    ) -> None:
        super().__init__(cuda, lanes, mode, origin, stamps=stamps)
        self._depth = mode.in_flight or 2
        periods = self._depth * len(lanes[0].launches)
        self._program = Program(
            [[self._turn(lane, turn) for lane in range(len(lanes))] for turn in range(periods)],
            columns=8 if stamps else 5,
            depth=self._depth,
            mark=(Kind.RECORD, int(self._wall_start), int(lanes[0].compute_stream)),
            context=context,
            error_name=_error_name(cuda),
        )

    def _turn(self, index: int, turn: int) -> Turn:
        lane, slot = self._lanes[index], self._slots[index][turn % self._depth]
        which = turn % len(lane.launches)
        fed, computing, answering = map(
            int, (lane.input_stream, lane.compute_stream, lane.output_stream)
        )
        transfers = bool(self._mode.transfers)
        issue: list[Call] = []
        if transfers:
            issue.append((Kind.RECORD, int(slot.h2d_start), fed))
            issue += _copies(Kind.COPY_IN, lane.h2d(which))
            issue.append((Kind.RECORD, int(slot.h2d_end), fed))
            issue.append((Kind.FOLLOW, computing, int(slot.h2d_end)))
        if self._flushes:
            issue.append(_flush(self._flushes[index]))
        issue.append((Kind.RECORD, int(slot.compute_start), computing))
        issue += [(Kind.CLOCK, 0), _launch(lane, which), (Kind.CLOCK, 1)]
        issue.append((Kind.RECORD, int(slot.compute_end), computing))
        if transfers:
            issue.append((Kind.FOLLOW, answering, int(slot.compute_end)))
            issue.append((Kind.RECORD, int(slot.d2h_start), answering))
            issue += _copies(Kind.COPY_OUT, lane.d2h())
            issue.append((Kind.RECORD, int(slot.d2h_end), answering))
        return Turn(issue, self._collect(slot, is_last=index == len(self._lanes) - 1))

    def _collect(self, slot: Any, *, is_last: bool) -> list[Call]:
        origin = int(self._origin.event)
        parts = [(2, slot.compute_start, slot.compute_end)]
        if self._mode.transfers:
            parts.append((3, slot.h2d_start, slot.h2d_end))
            parts.append((4, slot.d2h_start, slot.d2h_end))
        collect: list[Call] = [(Kind.WAIT, int(parts[-1][2]))]
        collect += [(Kind.ELAPSED, int(begin), int(end), to) for to, begin, end in parts]
        if self._stamps:
            collect += [(Kind.ELAPSED, origin, int(begin), to + 3) for to, begin, _ in parts]
        if self._mode.idle_ms and is_last:
            collect.append((Kind.PAUSE, int(self._mode.idle_ms * 1e6)))
        return collect

    def run(self, count: int, untimed: int = 0) -> None:  # noqa: ARG002 - of the protocol
        """Take `count` queries in one chunk, after `PIPELINE_FILL` untimed ones on each stream."""
        lanes = len(self._lanes)
        self.issued += count + request_loops.PIPELINE_FILL * lanes
        rows = self._program.run(count, request_loops.PIPELINE_FILL)
        extend(self._enqueue_starts, rows[:, 0])
        extend(self._enqueue_ends, rows[:, 1])
        extend(self._compute, rows[:, 2])
        if self._mode.transfers:
            extend(self._h2d, rows[:, 3])
            extend(self._d2h, rows[:, 4])
        begin = len(self._trace["stream"])
        if self._stamps:
            self._keep_stamps(rows)
        last = request_loops.PIPELINE_FILL * lanes + count - 1
        slot = self._slots[last % lanes][last // lanes % self._depth]
        self._close_gap(slot.d2h_end if self._mode.transfers else slot.compute_end, begin)

    def _keep_stamps(self, rows: Array) -> None:
        compute, h2d, d2h = (milliseconds(rows[:, column]) for column in (2, 3, 4))
        begin, fed, answering = (milliseconds(rows[:, column]) for column in (5, 6, 7))
        if not self._mode.transfers:
            fed, answering = begin, begin + compute
        called, accepted = ((rows[:, column] - self._origin.ns) / 1e6 for column in (0, 1))
        lanes = np.arange(len(rows)) % len(self._lanes)
        parts = (fed, fed + h2d, begin, begin + compute, answering, answering + d2h)
        stamped = (lanes, called, accepted, *parts)
        for values, column in zip(self._trace.values(), stamped, strict=True):
            extend(values, np.asarray(column, np.float64))

    def _elapsed(self, begin: Any, end: Any) -> float:
        reading = Turn([(Kind.ELAPSED, int(begin), int(end), 0)])
        return float(milliseconds(Program([[reading]], 1).run(1)[:, 0])[0])

    def loop_ms(self) -> float | None:
        """Return nothing: the interpreter adds no calls."""
        return None


class NativeLatency(request_loops.LatencyRecorder):
    """Takes round trips of one lane, in C.

    Attributes:
        program: Columns: start, end, accepted, asked, and the parts on the GPU's clock.
    """

    def __init__(self, cuda: Cuda, lane: InferenceStream, mode: Mode, *, context: int) -> None:
        super().__init__(cuda, lane, mode)
        turns = [[self._request_of(index)] for index in range(len(lane.launches))]
        self.program = Program(turns, columns=7, context=context, error_name=_error_name(cuda))

    def _request_of(self, index: int) -> Turn:
        lane = self._lane
        stream = int(lane.compute_stream)
        begin, fed, done, end = map(int, self._events)
        issue: list[Call] = []
        if self._idle_s:
            issue.append((Kind.PAUSE, int(self._idle_s * 1e9)))
        if self._flush is not None:
            issue += [_flush(self._flush), (Kind.DRAIN, stream)]
        issue += [(Kind.CLOCK, 0), (Kind.RECORD, begin, stream)]
        if self._transfers:
            issue += _copies(Kind.COPY_IN, lane.h2d(index))
        issue += [(Kind.RECORD, fed, stream), (Kind.CLOCK, 3), _launch(lane, index)]
        issue += [(Kind.CLOCK, 2), (Kind.RECORD, done, stream)]
        if self._transfers:
            issue += _copies(Kind.COPY_OUT, lane.d2h())
        issue += [(Kind.RECORD, end, stream), (Kind.WAIT, end), (Kind.CLOCK, 1)]
        parts = enumerate(((begin, fed), (fed, done), (done, end)), start=4)
        return Turn(issue, [(Kind.ELAPSED, first, second, to) for to, (first, second) in parts])

    def run(self, count: int, untimed: int = 0) -> None:
        self.issued += untimed + count
        rows = self.program.run(count, untimed)
        self.wall_ms += self.program.wall_ms
        self._extend(rows)
        extend(self._enqueues, rows[:, 2] - rows[:, 3])
        for values, column in zip(self._parts.values(), (4, 5, 6), strict=True):
            extend(values, rows[:, column])
