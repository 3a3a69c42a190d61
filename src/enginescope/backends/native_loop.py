"""The loop in C: a request as a list of calls, run a chunk at a time without the interpreter.

``native/loop.c`` holds the other side of each structure. A wheel for this platform, or a build in a
clone, has the library; without it the Python loops of the recorders take the samples.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from enginescope.backends.loop import StepRecorder
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array

_VERSION = 1
#: The library of this package; a name that ends with ``.so`` would be that of a Python module.
LIBRARY = Path(__file__).with_name(f"libloop.so.{_VERSION}")


class Kind(IntEnum):
    """What a call does; ``native/loop.c`` says what its arguments are."""

    RECORD = 0
    COPY_IN = 1
    COPY_OUT = 2
    FOLLOW = 3
    LAUNCH = 4
    FILL = 5
    WAIT = 6
    DRAIN = 7
    CLOCK = 8
    ELAPSED = 9
    PAUSE = 10
    ANSWER = 11
    DUE = 12


class _Call(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int64), *((name, ctypes.c_uint64) for name in "abcd"))


class _Turn(ctypes.Structure):
    _fields_ = (
        ("issue", ctypes.POINTER(_Call)),
        ("issues", ctypes.c_int64),
        ("collect", ctypes.POINTER(_Call)),
        ("collects", ctypes.c_int64),
    )


class _Chunk(ctypes.Structure):
    _fields_ = (
        ("turns", ctypes.POINTER(_Turn)),
        *((name, ctypes.c_int64) for name in ("lanes", "periods", "depth")),
        *((name, ctypes.c_int64) for name in ("untimed", "count", "columns")),
        ("rows", ctypes.c_void_p),
        ("mark", ctypes.POINTER(_Call)),
        ("next", ctypes.c_void_p),
        ("due", ctypes.c_void_p),
        ("limit_ns", ctypes.c_int64),
        ("context", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("begin_ns", "end_ns", "done", "last")),
        *((name, ctypes.c_int64) for name in ("error", "failed")),
        ("status", ctypes.c_void_p),
    )


Call = tuple[int, ...]


class Turn(NamedTuple):
    """How a request is issued, and how it is waited for and read."""

    issue: Sequence[Call]
    collect: Sequence[Call] = ()


@cache
def library() -> Any:
    """Return the library."""
    if not LIBRARY.exists():
        compiler = "have `cc` or `pip install ziglang` at hand and install again"
        hint = f"install a wheel for this platform, or {compiler}"
        why = "this installation has no compiled part"
        raise UnsupportedError("no native loop", why=why, hint=hint)
    try:
        loaded = ctypes.CDLL(str(LIBRARY))
        version = loaded.loop_version()
    except (OSError, AttributeError) as error:
        raise UnsupportedError("no native loop", why=f"{LIBRARY}: {error}") from error
    if version != _VERSION:
        why = f"{LIBRARY.name} has version {version}, not {_VERSION}: build it"
        raise UnsupportedError("no native loop", why=why)
    loaded.loop_run.argtypes = [ctypes.POINTER(_Chunk)]
    loaded.loop_run.restype = ctypes.c_int64
    loaded.loop_driver.restype = ctypes.c_char_p
    loaded.loop_context.restype = ctypes.c_void_p
    loaded.loop_free.argtypes = [ctypes.c_void_p]
    return loaded


def require_native(wanted: str | None, obstacle: str | None) -> None:
    """Raise where the loop in C is not to be had.

    Args:
        wanted: As `Mode.loop`.
        obstacle: What speaks against it.
    """
    why = "as requested" if wanted == "python" else obstacle
    if why is not None:
        raise UnsupportedError("no native loop", why=why)


def python_notice(why: UnsupportedError, cost: str, wanted: str | None) -> Notice:
    """Say that the interpreter makes the calls, why, and what that costs."""
    if wanted == "native":
        raise why
    message = f"timed from Python: {why.why}; {cost}" + (f"; {why.hint}" if why.hint else "")
    return Notice("I-PYTHON-LOOP", message, {"why": why.why})


def cuda_context(driver: str = "libcuda.so.1") -> int:
    """Find the CUDA driver; return the context that is current in this thread."""
    if (why := library().loop_driver(driver.encode())) is not None:
        raise UnsupportedError("no native loop", why=f"the CUDA driver: {why.decode()}")
    if (context := library().loop_context()) is None:
        raise UnsupportedError("no native loop", why="the CUDA driver shows no context")
    return int(context)


class Program:
    """Requests as lists of calls.

    Args:
        turns: For each round of a period, the turn of each lane.
        columns: Of a row; the first two are the request's start and end where the host times it.
        depth: Requests of one lane in flight.
        mark: A call before the first timed request.
        context: As of `cuda_context`.
        error_name: What an error number of the CUDA driver is called.

    Attributes:
        wall_ms: Host time of the timed requests of the last chunk.
    """

    def __init__(
        self,
        turns: Sequence[Sequence[Turn]],
        columns: int,
        *,
        depth: int = 1,
        mark: Call | None = None,
        context: int | None = None,
        error_name: Callable[[int], str] = str,
    ) -> None:
        self._turns, self.columns, self._error_name = turns, columns, error_name
        self._kept: list[Any] = []  # memory that the structures point to
        flat = [self._turn(one) for period in turns for one in period]
        self._chunk = _Chunk(
            turns=(_Turn * len(flat))(*flat),
            lanes=len(turns[0]),
            periods=len(turns),
            depth=depth,
            columns=columns,
            context=context,
        )
        if mark is not None:
            self._chunk.mark = self._calls([mark])
        self.wall_ms = 0.0

    def _turn(self, turn: Turn) -> _Turn:
        issue, collect = self._calls(turn.issue), self._calls(turn.collect)
        return _Turn(issue, len(turn.issue), collect, len(turn.collect))

    def _calls(self, calls: Sequence[Call]) -> Any:
        made = (_Call * len(calls))(*(_Call(*call) for call in calls))
        self._kept.append(made)
        return made

    def run(self, count: int, untimed: int = 0) -> Array:
        """Take `count` requests after `untimed` rounds; return rows of shape (count, columns)."""
        rows = np.zeros((count, self.columns), np.int64)
        self._chunk.next = None
        self._run(rows, count, untimed)
        return rows

    def share(
        self,
        rows: Array,
        taken: Array,
        count: int,
        untimed: int = 0,
        *,
        due: Array | None = None,
        limit_ns: int = 0,
    ) -> None:
        """Take requests until `taken`, which other threads raise too, reaches `count`.

        Args:
            rows: Of all requests.
            taken: The number of the next request.
            due: When each is due, in nanoseconds.
            limit_ns: No request begins after it.
        """
        self._chunk.next, self._chunk.limit_ns = taken.ctypes.data, limit_ns
        self._chunk.due = None if due is None else due.ctypes.data
        self._run(rows, count, untimed)

    def when_due(self, busy_ns: int) -> Program:
        """Return a program whose requests wait until they are due.

        Three columns more: when the loop was ready for the request, began it and ended it.

        Args:
            busy_ns: It busy-waits for the last stretch, of so many nanoseconds.
        """
        ready, begin, end = range(self.columns, self.columns + 3)
        wait = ((Kind.CLOCK, ready), (Kind.DUE, busy_ns), (Kind.CLOCK, begin))
        turns = [
            [Turn((*wait, *turn.issue), (*turn.collect, (Kind.CLOCK, end))) for turn in period]
            for period in self._turns
        ]
        context, name = self._chunk.context, self._error_name
        return Program(turns, self.columns + 3, context=context, error_name=name)

    @property
    def last(self) -> int:
        """Number of the request that was taken last."""
        return int(self._chunk.last)

    def _run(self, rows: Array, count: int, untimed: int) -> None:
        chunk = self._chunk
        chunk.rows, chunk.count, chunk.untimed = rows.ctypes.data, count, untimed
        chunk.done = chunk.error = 0
        failed = library().loop_run(ctypes.byref(chunk))
        self.wall_ms = (chunk.end_ns - chunk.begin_ns) / 1e6
        if failed:
            raise BackendError("running the model", why=self._why())

    def _why(self) -> str:
        chunk = self._chunk
        if not chunk.status:
            return f"{self._error_name(chunk.error)} ({Kind(chunk.failed).name.lower()})"
        text = ctypes.string_at(chunk.status).decode(errors="replace")
        library().loop_free(chunk.status)
        chunk.status = None
        return text


def milliseconds(column: Array) -> Array:
    """Return a column that the device's clock has filled, in milliseconds."""
    return np.ascontiguousarray(column).view(np.float64)


class NativeSteps(StepRecorder):
    """A request between two readings of the clock, all of it in C."""

    def __init__(self, program: Program) -> None:
        super().__init__(lambda: None)
        self.program = program

    def run(self, count: int, untimed: int = 0) -> None:
        self.issued += untimed + count
        rows = self.program.run(count, untimed)
        self.wall_ms += self.program.wall_ms
        self._extend(rows)
