"""What can be a side of an experiment: a function, a command, a program with JSONL, a record.

The JSONL protocol has four messages. A program sends ``hello`` and ``samples``, or ``error``; it
receives ``measure``. Every measurement starts the program anew. Lines that are not such a message
are ignored, so that a program may print what it likes.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns
from typing import Any, Protocol

import numpy as np

from enginescope.judge.errors import UsageError
from enginescope.judge.experiment import Measured
from enginescope.judge.samples import frozen
from enginescope.judge.verdict import EvidenceLevel

#: What a source says of a measurement, for the table: names and plain values.
Conditions = dict[str, Any]

#: A sample shorter than this has more of the clock in it than of the work.
_LEAST_SAMPLE_S = 20e-6
#: The median of so many calls says how long one takes; a pause of the process does not move it.
_CALLS = 1_000
#: A command is not started more often in one measurement.
_MOST_STARTS = 50
_MS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}
_LONGEST_TEXT = 400


class Source(Protocol):
    """A side: measures itself once."""

    @property
    def name(self) -> str:
        """For people; also identifies the side when an experiment is continued."""

    @property
    def evidence(self) -> EvidenceLevel:
        """What a verdict on such sides rests on."""

    def measure(self, round_number: int, seconds: float) -> Measured[Conditions]:
        """Measure for about so many seconds; values in ms."""


@dataclass(frozen=True, slots=True)
class Function:
    """A callable of this process, called without arguments.

    A sample is the mean of as many calls as take 20 µs; of a longer call it is one call.
    """

    function: Callable[[], object]
    name: str
    evidence: EvidenceLevel = EvidenceLevel.ONE_PROCESS

    def measure(self, round_number: int, seconds: float) -> Measured[Conditions]:  # noqa: ARG002
        """Measure for about so many seconds, after a tenth of them as a warm-up."""
        try:
            calls = self._calls(seconds / 10)
            values = frozen(self._times_ms(calls, seconds))
            return Measured(source={"calls_per_sample": calls}, values=values)
        except Exception as error:  # noqa: BLE001 - another's code may raise anything
            why = f"{type(error).__name__}: {error}"
            return Measured(source={}, values=None, failure=why, is_final=True)

    def _calls(self, seconds: float) -> int:
        """Warm up, and return the number of calls of a sample."""
        times: deque[int] = deque(maxlen=_CALLS)
        begin = now = perf_counter_ns()
        while now - begin < seconds * 1e9:
            before = now
            self.function()
            now = perf_counter_ns()
            times.append(now - before)
        return max(1, round(_LEAST_SAMPLE_S * 1e9 / max(median(times), 1)))

    def _times_ms(self, calls: int, seconds: float) -> list[float]:
        function = self.function
        times: list[float] = []
        end = perf_counter_ns() + int(seconds * 1e9)
        begin = perf_counter_ns()
        while not times or begin < end:
            for _ in range(calls):
                function()
            now = perf_counter_ns()
            times.append((now - begin) / calls * 1e-6)
            begin = perf_counter_ns()
        return times


@dataclass(frozen=True, slots=True)
class Command:
    """A command line; a sample is the wall time of one whole process.

    Attributes:
        arguments: Of the process; no shell reads them.
        timeout_s: Of each process; it is killed then.
    """

    arguments: tuple[str, ...]
    name: str
    timeout_s: float = 600.0
    evidence: EvidenceLevel = EvidenceLevel.INTERLEAVED

    def measure(self, round_number: int, seconds: float) -> Measured[Conditions]:  # noqa: ARG002
        """Start the command again and again for about so many seconds, 1 to 50 times."""
        times: list[float] = []
        end = perf_counter() + seconds
        while not times or (perf_counter() < end and len(times) < _MOST_STARTS):
            begin = perf_counter()
            failure, _ = _output(self.arguments, "", self.timeout_s)
            if failure is not None:
                return failure
            times.append((perf_counter() - begin) * 1e3)
        return Measured(source={}, values=frozen(times))


class Program(Command):
    """A program that measures itself, by the JSONL protocol."""

    def measure(self, round_number: int, seconds: float) -> Measured[Conditions]:
        """Start the program, ask it to measure, and read its samples."""
        wanted = {"type": "measure", "round": round_number, "seconds": seconds}
        failure, text = _output(self.arguments, json.dumps(wanted) + "\n", self.timeout_s)
        return failure or _read_messages(text)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Samples of rounds that were measured elsewhere, in ms.

    Attributes:
        rounds: Samples of each round, in order.
    """

    rounds: tuple[Sequence[float], ...]
    name: str
    evidence: EvidenceLevel = EvidenceLevel.INTERLEAVED

    def measure(self, round_number: int, seconds: float) -> Measured[Conditions]:  # noqa: ARG002
        """Return the samples of a round."""
        if round_number >= len(self.rounds):
            why = f"only {len(self.rounds)} rounds are recorded"
            return Measured(source={}, values=None, failure=why, is_final=True)
        return Measured(source={}, values=frozen(self.rounds[round_number]))


def command(line: str | Sequence[str], *, name: str | None = None) -> Command:
    """Return a command line as a side; whole processes are timed."""
    return Command(_words(line), name or _text(line))


def program(line: str | Sequence[str], *, name: str | None = None) -> Program:
    """Return a program that speaks the JSONL protocol as a side."""
    return Program(_words(line), name or _text(line))


def fresh(function: str, *, name: str | None = None) -> Program:
    """Return ``module:function`` as a side; each measurement is a fresh Python process.

    Raises:
        UsageError: Not of that form.
    """
    module, colon, attribute = function.partition(":")
    if not (module and colon and attribute):
        raise UsageError(f"{function!r} is not a function", hint="module:function")
    return Program((sys.executable, "-m", "enginescope.judge.worker", function), name or function)


def source_of(side: object, number: int) -> Source:
    """Return a side as a source: a source itself, or a callable."""
    if hasattr(side, "measure"):
        return side  # type: ignore[return-value]
    if callable(side):
        return Function(side, getattr(side, "__qualname__", "") or f"side {number + 1}")
    raise UsageError(
        f"{side!r} is not a side",
        hint="a callable, judge.command(LINE), judge.program(LINE) or judge.fresh('module:name')",
    )


def _words(line: str | Sequence[str]) -> tuple[str, ...]:
    words = tuple(shlex.split(line) if isinstance(line, str) else map(str, line))
    if not words:
        raise UsageError("an empty command", hint="name a program and its arguments")
    return words


def _text(line: str | Sequence[str]) -> str:
    return line if isinstance(line, str) else shlex.join(map(str, line))


def _output(
    arguments: Sequence[str], stdin: str, timeout_s: float
) -> tuple[Measured[Conditions] | None, str]:
    """Run a process; return its failure, and what it printed."""
    try:
        ended = subprocess.run(
            arguments,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError:
        why = f"{arguments[0]} is not a program on this machine"
        return Measured(source={}, values=None, failure=why, is_final=True), ""
    except subprocess.TimeoutExpired:
        why = f"it took longer than {timeout_s:g} s and was killed"
        return Measured(source={}, values=None, failure=why), ""
    except OSError as error:
        why = f"{Path(arguments[0]).name} did not start: {error.strerror or error}"
        return Measured(source={}, values=None, failure=why, is_final=True), ""
    if ended.returncode and '"type"' not in ended.stdout:
        last = (ended.stderr.strip() or ended.stdout.strip())[-_LONGEST_TEXT:]
        why = f"exit status {ended.returncode}" + (f": {last}" if last else "")
        return Measured(source={"status": ended.returncode}, values=None, failure=why), ""
    return None, ended.stdout


def _read_messages(text: str) -> Measured[Conditions]:
    """Return the samples, or the error, among the lines that a program printed."""
    hello: Conditions = {}
    for line in text.splitlines():
        message = _message(line)
        if message.get("type") == "hello":
            hello = {key: value for key, value in message.items() if key != "type"}
        elif message.get("type") == "error":
            return Measured(source=hello, values=None, failure=str(message.get("message", "")))
        elif message.get("type") == "samples":
            return _samples(message, hello)
    return Measured(source=hello, values=None, failure="it printed no samples message")


def _message(line: str) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _samples(message: dict[str, Any], hello: Conditions) -> Measured[Conditions]:
    unit = message.get("unit", "ms")
    try:
        values = np.asarray(message.get("values"), dtype=np.float64) * _MS[unit]
    except (TypeError, ValueError, KeyError):
        values = np.empty(0)
    if values.ndim != 1 or not values.size or not (np.isfinite(values) & (values > 0)).all():
        why = f"its samples are not a list of times above 0 in {', '.join(_MS)}"
        return Measured(source=hello, values=None, failure=why, is_final=True)
    return Measured(source=hello, values=frozen(values))
