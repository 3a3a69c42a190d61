"""Units that stand in the name of a field: ``latencyMs``, ``time_us``, ``wall_seconds``."""

from __future__ import annotations

import re

_MS_PER = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
_WORDS = {
    "ns": "ns",
    "nsec": "ns",
    "nanosecond": "ns",
    "nanoseconds": "ns",
    "us": "us",
    "µs": "us",
    "usec": "us",
    "microsecond": "us",
    "microseconds": "us",
    "ms": "ms",
    "msec": "ms",
    "millisecond": "ms",
    "milliseconds": "ms",
    "s": "s",
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
}
_TAIL = re.compile(r"^(.*?)(?:[\s_\-.]*[(\[]\s*([A-Za-zµ]+)\s*[)\]]|[\s_\-.]+([A-Za-zµ]+))$")
# Longest first; a lower-case tail without a separator ("times") is part of the word.
_CAMEL = re.compile(
    r"^(.*[a-z0-9])(Milliseconds|Microseconds|Nanoseconds|Seconds|Msec|Usec|Nsec|Secs|Sec|Ms|Us|Ns|S)$"
)
_SEPARATORS = re.compile(r"[^a-z0-9]")


def unit_ms(word: str) -> float | None:
    """Return the milliseconds in one of the unit `word`, or ``None`` for other units."""
    unit = _WORDS.get(word.strip().lower())
    return _MS_PER[unit] if unit else None


def split_unit(key: str) -> tuple[str, float | None]:
    """Return a field's name without its unit, and the milliseconds in one of that unit.

    The name comes back in lower case without separators. The factor is ``None`` where the name
    has no unit; nothing is guessed.

    >>> split_unit("startComputeMs"), split_unit("wall_time_us"), split_unit("times")
    (('startcompute', 1.0), ('walltime', 0.001), ('times', None))
    """
    for pattern in (_TAIL, _CAMEL):
        match = pattern.match(key)
        if match:
            unit = unit_ms(next(group for group in match.groups()[1:] if group))
            if unit is not None:
                return _plain(match[1]), unit
    return _plain(key), unit_ms(key)


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name.lower())
