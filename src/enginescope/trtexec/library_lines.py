"""TensorRT's own lines in a worker's log, which trtexec prints among its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from enginescope.trtexec.log import Level, Line, on_one_line

_LINE = re.compile(r"^\[[^\]]*\] \[([FEWIV])\] (\[TRT\] .*)$")
_LEVELS = {"F": "E", "E": "E", "W": "W", "I": "I", "V": "V"}


def library_lines(log: str, *, verbose: bool) -> Iterator[Line]:
    """Yield TensorRT's messages; what else the worker wrote only where `verbose`.

    Parameters
    ----------
    log : str
        Messages with a prefix of time and level, and lines without.
    """
    for text in log.split("\n"):
        match = _LINE.match(text)
        if match is not None and (verbose or match[1] != "V"):
            yield Line(cast("Level", _LEVELS[match[1]]), on_one_line(match[2]))
        elif match is None and verbose and text.strip():
            yield Line("V", on_one_line(text))
