"""Lines of a verbose build log, whichever logger wrote their prefix."""

from __future__ import annotations

import re
from collections.abc import Iterator

# trtexec's, the C++ samples', the Python logger's of 7 and of 8 and later, Polygraphy's, Jetson's.
_STAMP = r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] "
_PREFIX = re.compile(
    rf"^(?:{_STAMP})?(?:\[(?:TRT|TensorRT)\]\s*)?"
    r"(?:\[([VIWEF])\]\s*|(VERBOSE|INFO|WARNING|ERROR|INTERNAL_ERROR): )?(?:\[TRT\]\s*)?"
)
_WORDS = {"VERBOSE": "V", "INFO": "I", "WARNING": "W", "ERROR": "E", "INTERNAL_ERROR": "F"}


def story_lines(text: str) -> Iterator[tuple[int, str | None, str]]:
    """Yield (number from 1, level letter or ``None``, text without its prefix).

    Lines with nothing in them are left out. What TensorRT said through trtexec, by far most of a
    log, has its prefix at fixed columns.
    """
    for number, raw in enumerate(text.split("\n"), start=1):
        if raw[26:32] == "[TRT] " and raw[22:23] == "[":
            yield number, raw[23], raw[32:].strip()
            continue
        line = raw.strip()
        match = _PREFIX.match(line)
        assert match is not None  # every part of it is optional
        rest = line[match.end() :].strip()
        if rest:
            yield number, match[1] or _WORDS.get(match[2] or ""), rest
