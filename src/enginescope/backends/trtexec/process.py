"""One run of trtexec, watched line by line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple, Protocol

from enginescope.backends.base import ProgressSink
from enginescope.core.errors import UnsupportedError
from enginescope.records.progress import Progress

#: Verbose lines beyond so many characters are left out of the kept log: a build can write hundreds
#: of megabytes of them.
VERBOSE_LIMIT = 8 << 20
_VERBOSE = slice(22, 25)

#: What trtexec says when a phase begins, in its order.
_PHASES = (
    ("Start parsing network model", "parse"),
    ("Finished parsing network model", "build"),
    ("Engine built in", "load"),
    ("Engine loaded in", "load"),
    ("Starting inference", "steady_state"),
    ("=== Performance summary ===", "layer_profile"),
)


class Ended(NamedTuple):
    """How it ended: exit status (negative: a signal), and all it said."""

    status: int
    log: str


class Beside(Protocol):
    """Who follows what trtexec does, while it does it."""

    def started(self, pid: int) -> None:
        """Take the number of its process."""

    def take(self, line: str) -> None:
        """Take a line that it says."""


def run(
    arguments: Sequence[str],
    expected_ms: float,
    progress: ProgressSink,
    *,
    profiles: bool,
    beside: Beside | None = None,
) -> Ended:
    """Run trtexec to its end; what it says goes to standard error too, as it comes.

    Args:
        expected_ms: How long warm-up and measurement last, for the display.
        profiles: Whether a pass that times the layers follows.
        beside: Hears of its start, and of each line as it comes.

    Raises:
        UnsupportedError: It cannot be started.
    """
    log = _Log()
    report = _Reporter(expected_ms, progress, profiles=profiles)
    try:
        process = subprocess.Popen(
            list(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise UnsupportedError(
            f"{arguments[0]} does not start", why=error.strerror or str(error)
        ) from error
    with process:
        try:
            assert process.stdout is not None
            if beside is not None:
                beside.started(process.pid)
            for line in process.stdout:
                if beside is not None:
                    beside.take(line)
                sys.stderr.write(line)  # the worker's log has it even if we are killed here
                log.take(line)
                report.take(line)
        except BaseException:  # also on Ctrl-C: leave no measurement running
            process.kill()
            raise
    return Ended(process.returncode, log.text())


class _Log:
    """Lines kept; verbose ones up to a limit."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._verbose = 0
        self._left_out = 0

    def take(self, line: str) -> None:
        if line[_VERBOSE] == "[V]":
            self._verbose += len(line)
            if self._verbose > VERBOSE_LIMIT:
                self._left_out += 1
                return
        self._lines.append(line)

    def text(self) -> str:
        if self._left_out:
            note = f"[enginescope: {self._left_out} further verbose lines are left out]\n"
            return "".join((*self._lines, note))
        return "".join(self._lines)


class _Reporter:
    """Tells the phase from what trtexec says."""

    def __init__(self, expected_ms: float, progress: ProgressSink, *, profiles: bool) -> None:
        self._expected_ms = expected_ms
        self._progress = progress
        self._profiles = profiles
        self._begin = perf_counter()
        self._tell("load")

    def take(self, line: str) -> None:
        phase = next((name for words, name in _PHASES if words in line), None)
        if phase is not None and (phase != "layer_profile" or self._profiles):
            self._tell(phase)

    def _tell(self, phase: str) -> None:
        self._progress(
            Progress(
                phase=phase,
                elapsed_ms=(perf_counter() - self._begin) * 1e3,
                limit_ms=self._expected_ms if phase == "steady_state" else None,
                detail="trtexec",
            )
        )
        self._begin = perf_counter()


def peak_of_children_bytes() -> int | None:
    """Return the peak resident memory of the largest process that was waited for here."""
    try:
        import resource  # not on every platform
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024
