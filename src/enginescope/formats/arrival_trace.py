"""A file with the times at which queries arrive."""

from __future__ import annotations

import math
from pathlib import Path

from enginescope.core.errors import FormatError, UsageError


def read_arrival_trace(path: Path) -> tuple[float, ...]:
    """Return the arrivals of a trace in milliseconds since the first one, rising.

    A line has one time in seconds, of any origin; blank lines and ``#`` comments are skipped.

    Raises:
        UsageError: The file cannot be read.
        FormatError: A line is not a time, or there is none.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"trace {path}", why=why) from None
    times = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            time_s = float(text)
        except ValueError:
            time_s = math.nan
        if not math.isfinite(time_s):
            raise FormatError(
                str(path), where=f"line {number}", why=f"{text!r}", expected="a time in seconds"
            )
        times.append(time_s)
    if not times:
        raise FormatError(str(path), why="it has no times", expected="one time in seconds per line")
    first = min(times)
    return tuple(1e3 * (time_s - first) for time_s in sorted(times))
