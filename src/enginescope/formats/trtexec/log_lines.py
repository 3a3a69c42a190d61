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

#: The same of TensorRT's logger in Python, which puts its name before the level.
IS_SCRIPT_LOG = re.compile(r"^\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[TRT\] \[[VIWEF]\]", re.MULTILINE)


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
            yield LogLine(number, None, is_library=False, text=line)
            continue
        match = _PREFIX.match(line)
        if match is None:
            yield LogLine(number, None, is_library=False, text=line)
        else:
            is_library = match[1] is not None or match[3] is not None
            yield LogLine(number, match[2], is_library=is_library, text=match[4])


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
