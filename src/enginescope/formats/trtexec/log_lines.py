"""Lines of a trtexec log, without their prefix.

The newest trtexec whose flags, log and figures were read from its own source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_PREFIX = re.compile(
    r"^\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] (\[TRT\] )?\[([A-Z])\] ?(\[TRT\] ?)?(.*)$", re.DOTALL
)
#: Anywhere in a text, at the start of a line: this is a trtexec log.
IS_LOG = re.compile(
    r"^(?:&&&& (?:RUNNING|PASSED|FAILED) TensorRT\b"
    r"|\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[[VIWEF]\]"
    r"|=== (?:Model Options|Performance summary|Inference Options) ===)",
    re.MULTILINE,
)

#: What Torch-TensorRT puts before TensorRT's own lines: its logger in Python, and that in C++.
_TORCH = (
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|INTERNAL_ERROR|CRITICAL):"
    r"(?:torch_tensorrt \[[^\]]*Conversion Context\]:| \[Torch-TensorRT[^\]]*Context\] - )"
)
_TORCH_PREFIX = re.compile(_TORCH + "(?P<text>.*)$", re.DOTALL)
_TORCH_LEVELS = {"INTERNAL_ERROR": "F", "CRITICAL": "F"}
#: The same of TensorRT's logger in Python, which puts its name before the level.
IS_SCRIPT_LOG = re.compile(
    rf"^(?:\[\d\d/\d\d/\d{{4}}-\d\d:\d\d:\d\d\] \[TRT\] \[[VIWEF]\]|{_TORCH})", re.MULTILINE
)


class LogLine(NamedTuple):
    """One line.

    Attributes:
        number: From 1.
        level: ``"I"``, ``"W"``, ``"E"``, ``"F"``; ``None`` for a line without prefix.
        is_library: Whether TensorRT itself said it (``[TRT]``), not trtexec.
    """

    number: int
    level: str | None
    is_library: bool
    text: str


def log_lines(text: str, first: int = 1) -> Iterator[LogLine]:
    """Yield the lines that can matter: verbose ones, which are most, are passed over.

    Args:
        first: Number of the first line in its file.
    """
    for number, raw in enumerate(text.split("\n"), start=first):
        line = raw.rstrip("\r")
        if line[22:25] == "[V]" or line[22:31] == "[TRT] [V]":
            continue
        if line[:1] != "[":
            found = _torch_line(number, line)
            if found is None or found.level != "D":
                yield found or LogLine(number, None, is_library=False, text=line)
            continue
        match = _PREFIX.match(line)
        if match is None:
            yield LogLine(number, None, is_library=False, text=line)
        else:
            is_library = match[1] is not None or match[3] is not None
            yield LogLine(number, match[2], is_library=is_library, text=match[4])


def _torch_line(number: int, line: str) -> LogLine | None:
    """Return a line of TensorRT as Torch-TensorRT logs it; ``None`` for any other."""
    match = _TORCH_PREFIX.match(line) if "Context]" in line else None
    if match is None:
        return None
    level = _TORCH_LEVELS.get(match["level"], match["level"][0])
    return LogLine(number, level, is_library=True, text=match["text"])


#: Major and minor of TensorRT. A newer one is taken for this one, and that is said.
NEWEST = (11, 1)


def newer_release_text(version: tuple[int, ...]) -> str | None:
    """Say that a version is newer than what is known of trtexec; ``None`` if it is not.

    Args:
        version: Major, minor and what follows.
    """
    if version[:2] <= NEWEST:
        return None
    known, found = ".".join(map(str, NEWEST)), ".".join(map(str, version))
    return (
        f"TensorRT {found} is newer than {known}, the newest known trtexec; enginescope "
        f"treats it as {known} and ignores later changes of flags and defaults"
    )
