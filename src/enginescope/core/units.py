"""Quantities in and out of text. Milliseconds and bytes inside, always."""

import re
from collections.abc import Iterable
from typing import TypeVar

from enginescope.core.errors import UsageError
from enginescope.judge.units import format_significant

N = TypeVar("N", int, float)

_DURATION_MS = {
    "": 1e3,
    "ns": 1e-6,
    "us": 1e-3,
    "µs": 1e-3,
    "ms": 1.0,
    "s": 1e3,
    "min": 6e4,
    "h": 3.6e6,
}
_SIZE = {"": 1, "b": 1} | {
    prefix + suffix: base**power
    for power, prefix in enumerate("kmgt", start=1)
    for suffix, base in (("", 1000), ("b", 1000), ("ib", 1024))
}
_NUMBER = re.compile(r"^\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([a-zA-Zµ]*)\s*$")


def parse_duration_ms(text: str) -> float:
    """Return milliseconds from ``200ms``, ``10s``, ``2min``; a number without a unit is seconds."""
    match = _NUMBER.match(text)
    if not match or match[2] not in _DURATION_MS:
        hint = "seconds, or a number with a unit: 500us, 200ms, 10s, 2min"
        raise UsageError(f"{text!r} is not a duration", hint=hint)
    return float(match[1]) * _DURATION_MS[match[2]]


def parse_bytes(text: str) -> int:
    """Return bytes from ``512MiB``, ``2GiB``, ``1GB`` or a plain number."""
    match = _NUMBER.match(text)
    if not match or match[2].lower() not in _SIZE:
        raise UsageError(f"{text!r} is not a size", hint="a number with a unit: 512MiB, 2GiB")
    return int(float(match[1]) * _SIZE[match[2].lower()])


def format_bytes(value: float | None, digits: int = 3) -> str:
    """Return a size in binary units: ``96 MiB``."""
    if value is None:
        return "not known"
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            return f"{format_significant(amount, digits)} {unit}"
        amount /= 1024
    return f"{format_significant(amount, digits)} TiB"


def sum_known(amounts: Iterable[N | None]) -> N | None:
    """Return the sum of the amounts that are known; ``None`` if none is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def parse_ranges(text: str) -> tuple[int, ...]:
    """Return ``0,2-4`` as numbers, sorted, each once.

    Raises:
        ValueError: Not of that form.
    """
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(part)
        end = int(last) if dash else int(first)
        if end < int(first) or end > 1 << 16:
            raise ValueError(part)
        found.update(range(int(first), end + 1))
    return tuple(sorted(found))
