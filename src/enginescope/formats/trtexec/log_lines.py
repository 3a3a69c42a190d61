"""Lines of a trtexec log, without their prefix."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_PREFIX = re.compile(
    r"^\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[([A-Z])\] ?(\[TRT\] ?)?(.*)$", re.DOTALL
)
#: Anywhere in a text, at the start of a line: this is a trtexec log.
IS_LOG = re.compile(
    r"^(?:&&&& (?:RUNNING|PASSED|FAILED) TensorRT\b"
    r"|\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[[VIWEF]\]"
    r"|=== (?:Model Options|Performance summary|Inference Options) ===)",
    re.MULTILINE,
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


def log_lines(text: str) -> Iterator[LogLine]:
    """Yield the lines that can matter: verbose ones, which are most, are passed over."""
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.rstrip("\r")
        if line[22:25] == "[V]":
            continue
        if line[:1] != "[":
            yield LogLine(number, None, is_library=False, text=line)
            continue
        match = _PREFIX.match(line)
        if match is None:
            yield LogLine(number, None, is_library=False, text=line)
        else:
            yield LogLine(number, match[1], is_library=match[2] is not None, text=match[3])
