"""Streams, events and work in virtual time, on the clock of the host.

Work takes effect (moves bytes, runs a model) when its end is reached and somebody looks: who
reads without waiting reads what was there before.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fake_device.handles import cudaError_t

Effect = Callable[[], "cudaError_t | None"]


@dataclass(eq=False)
class Node:
    """What is on a stream: work of a duration, or an event that is reached."""

    duration_ns: int
    effect: Effect | None = None
    event: Event | None = None


@dataclass(eq=False)
class Event:
    """An event; `at_ns` is ``None`` before it is recorded."""

    handle: int
    timing: bool = True
    at_ns: int | None = None
    captured: bool = False


@dataclass(eq=False)
class Stream:
    """A stream.

    Attributes:
        capture: Its nodes while it is captured.
        gate: Whether the word that the stream waits for is there; the rest is `held` until then.
    """

    handle: int
    cursor_ns: int = 0
    capture: list[Node] | None = None
    invalidated: bool = False
    destroyed: bool = False
    gate: Callable[[], bool] | None = None
    held: list[Node] = field(default_factory=list)


class Timeline:
    def __init__(self) -> None:
        self.legacy = Stream(handle=0)
        self.streams: dict[int, Stream] = {0: self.legacy}
        self._pending: list[tuple[int, int, Effect]] = []  # its end, its number
        self._numbers = itertools.count()
        self._lock = threading.RLock()  # who waits for work does not go on while another runs it
        self.failed: cudaError_t | None = None  # every call returns it from then on
        self.fails_next_wait: cudaError_t | None = None

    @staticmethod
    def now() -> int:
        return time.perf_counter_ns()

    def enqueue(self, stream: Stream, node: Node) -> None:
        """Put a node on a stream, or into what is captured from it."""
        if stream.capture is not None:
            stream.capture.append(node)
        elif stream.gate is not None and not stream.gate():
            stream.held.append(node)
        else:
            self._let_through(stream)
            self._start(stream, node)

    def _let_through(self, stream: Stream) -> None:
        held, stream.gate, stream.held = stream.held, None, []
        for node in held:
            self._start(stream, node)

    def wait_for_gate(self, stream: Stream) -> None:
        """Block until what a stream waits for is there, and start what was held back."""
        while stream.gate is not None and not stream.gate():
            time.sleep(0.0001)
        self._let_through(stream)

    def _start(self, stream: Stream, node: Node) -> None:
        # the default stream waits for the others, and they for it
        others = self.streams.values() if stream is self.legacy else (self.legacy,)
        begin = max(self.now(), stream.cursor_ns, *(one.cursor_ns for one in others))
        end = begin + node.duration_ns
        # an event does not delay what follows: it is a mark on what is there already
        stream.cursor_ns = end if node.event is None else max(stream.cursor_ns, begin)
        if node.event is not None:
            node.event.at_ns = begin
        if node.effect is not None:
            with self._lock:
                heapq.heappush(self._pending, (end, next(self._numbers), node.effect))

    def launch(self, stream: Stream, nodes: list[Node]) -> None:
        """Start the nodes of a graph on a stream, one after the other."""
        for node in nodes:
            self.enqueue(stream, Node(node.duration_ns, node.effect, node.event))

    def wait_event(self, stream: Stream, event: Event) -> None:
        """Let what follows on a stream begin no earlier than an event."""
        if event.at_ns is not None:
            stream.cursor_ns = max(stream.cursor_ns, event.at_ns)

    def settle(self) -> None:
        """Let everything take effect whose end has come."""
        with self._lock:
            while self._pending and self._pending[0][0] <= self.now():
                failed = heapq.heappop(self._pending)[2]()
                self.failed = self.failed or failed

    def wait_until(self, at_ns: int) -> cudaError_t | None:
        """Block until a time, and let take effect what ends before it."""
        while (left := at_ns - self.now()) > 0:
            time.sleep(left / 1e9 if left > 300_000 else 0)
        self.settle()
        if self.fails_next_wait is not None:
            self.failed, self.fails_next_wait = self.fails_next_wait, None
        return self.failed

    def synchronize(self) -> cudaError_t | None:
        for one in self.streams.values():
            self.wait_for_gate(one)
        return self.wait_until(max(one.cursor_ns for one in self.streams.values()))
