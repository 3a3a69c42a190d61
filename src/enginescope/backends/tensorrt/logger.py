"""TensorRT's log: to standard error as it comes, warnings and errors kept."""

from __future__ import annotations

import sys
import time
from typing import Any

from enginescope.core.record import Record

_LETTERS = {"INTERNAL_ERROR": "F", "ERROR": "E", "WARNING": "W", "INFO": "I", "VERBOSE": "V"}
_ORDER = tuple(_LETTERS)
LEVELS = {"error": "ERROR", "warning": "WARNING", "info": "INFO", "verbose": "VERBOSE"}


_LAYERS = "Layers:\n"
#: How TensorRT and CUDA say that memory is exhausted.
_MEMORY = ("outofmemory", "out of memory", "out_of_memory")


def is_out_of_memory(text: str) -> bool:
    """Whether an error says that memory is exhausted."""
    return any(word in text.lower() for word in _MEMORY)


class LogLine(Record, frozen=True, kw_only=True):
    """A warning or an error of TensorRT."""

    level: str
    text: str


class Log:
    """What TensorRT has said so far.

    Attributes:
        lines: Warnings and errors.
        text: Everything that was written, a line each.
        layers: The last engine's layers as the inspector's text, which a build with detailed
            verbosity says among its verbose messages.
    """

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        self.text: list[str] = []
        self.layers = ""

    @property
    def errors(self) -> tuple[str, ...]:
        """Texts of the errors, in order, without repetitions."""
        return tuple(dict.fromkeys(one.text for one in self.lines if one.level in "FE"))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Texts of the warnings, in order, without repetitions."""
        return tuple(dict.fromkeys(one.text for one in self.lines if one.level == "W"))

    def why(self, otherwise: str) -> str:
        """Return the first errors as a cause."""
        return "; ".join(self.errors[:3]) or otherwise


def make_logger(trt: Any, log: Log, level: str = "info") -> Any:
    """Return a ``trt.ILogger`` that writes to standard error and fills `log`.

    Args:
        level: The least severe that is written.
    """
    shown = _ORDER[: _ORDER.index(LEVELS[level]) + 1]

    class Logger(trt.ILogger):  # type: ignore[misc]  # the module is found at run time
        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: Any, message: str) -> None:
            name = severity.name
            letter = _LETTERS.get(name, "I")
            if letter in "FEW":
                log.lines.append(LogLine(level=letter, text=message.strip()))
            if message.startswith(_LAYERS):
                log.layers = message
            if name in shown:
                stamp = time.strftime("%m/%d/%Y-%H:%M:%S")
                line = f"[{stamp}] [{letter}] [TRT] {message}\n"
                log.text.append(line)
                sys.stderr.write(line)

    return Logger()
