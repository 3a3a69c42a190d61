"""Files of traces, one value a line: the times at which queries arrive, or their sizes."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from enginescope.core.errors import FormatError, UsageError
from enginescope.formats.log_facts import number

T = TypeVar("T")


def read_trace(
    path: Path, parse: Callable[[str], T | None], *, noun: str, expected: str
) -> list[T]:
    """Return the values of a trace; blank lines and ``#`` comments are skipped.

    Args:
        parse: Return the value of a line; ``None``: it has none.
        noun: What a line has.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"trace {path}", why=why) from None
    values = []
    for at, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        if (value := parse(text)) is None:
            raise FormatError(str(path), where=f"line {at}", why=f"{text!r}", expected=expected)
        values.append(value)
    if not values:
        why = f"it has no {noun.split()[0]}s"
        raise FormatError(str(path), why=why, expected=f"one {noun} per line")
    return values


def read_arrival_trace(path: Path) -> tuple[float, ...]:
    """Return the arrivals of a trace in milliseconds since the first one, rising.

    A line has one time in seconds, of any origin.
    """
    times = read_trace(path, number, noun="time in seconds", expected="a time in seconds")
    first = min(times)
    return tuple(1e3 * (time_s - first) for time_s in sorted(times))
