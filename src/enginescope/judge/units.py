"""Quantities as text. Milliseconds inside, always."""

import math
from collections.abc import Callable, Iterable, Sequence


def format_significant(value: float, digits: int = 3) -> str:
    """Return `value` with so many significant digits, thousands separated, never in exponents.

    A number below 0 has a minus sign, not a hyphen.
    """
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(places, 12)}f}".replace("-", "−")


def range_text(low: float, high: float, digits: int = 4) -> str:
    """Return ``4.201 … 4.236``: both with the same decimals, enough to tell them apart."""
    for more in range(digits, digits + 3):
        places = _places(max(abs(low), abs(high)), more)
        first, second = f"{low:,.{places}f}", f"{high:,.{places}f}"
        if first != second or low == high:
            break
    return f"{first} … {second}".replace("-", "−")


def with_sign(value: float, text: Callable[[float], str] = format_significant) -> str:
    """Return ``+1.3 ms`` or ``−2.6 ms``: `text` writes the size; 0 has no sign."""
    return f"{'−' if value < 0 else '+' if value > 0 else ''}{text(abs(value))}"


def signed(value: float, places: int) -> str:
    """Return ``+1.3`` or ``−2.6``; what rounds to 0 has no sign."""
    return with_sign(round(value, places), lambda size: f"{size:,.{places}f}")


def signed_pct(change_pct: float) -> str:
    """Return a change in percent: ``−2.6``, with two decimals below 0.95 and none from 100 up."""
    size = abs(change_pct)
    return signed(change_pct, 0 if size >= 99.95 else 1 if size >= 0.95 else 2)


def format_ms(value_ms: float | None, digits: int = 4) -> str:
    """Return a duration as ``4.218 ms``, or in s from a minute up."""
    if value_ms is None:
        return "not known"
    if value_ms >= 10_000:
        return f"{format_significant(value_ms / 1e3, digits)} s"
    return f"{format_significant(value_ms, digits)} ms"


def shape_text(shape: Iterable[int | None]) -> str:
    """Return ``1×3×?``: the sizes, ``?`` for one that is not known; nothing for a scalar."""
    return "×".join("?" if size is None else str(size) for size in shape)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return ``"1 layer"`` or ``"1,234 layers"``; by default the plural ends in s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def listed(names: Sequence[str]) -> str:
    """Return one or more names as ``A, B and C``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def format_span(seconds: float) -> str:
    """Return a time as ``12 s``, or from a minute and a half up ``2.5 min``."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{format_significant(seconds / 60, 2)} min"


def _places(value: float, digits: int) -> int:
    if value == 0 or not math.isfinite(value):
        return digits - 1
    return min(12, max(0, digits - 1 - math.floor(math.log10(value))))
