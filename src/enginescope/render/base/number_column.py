"""Numbers of one column with the same decimals, so that they compare at a glance."""

from __future__ import annotations

import math
from collections.abc import Sequence

UNKNOWN = "—"
_MOST_PLACES = 9


def places_for(values: Sequence[float | None], digits: int = 4) -> int:
    """Return the decimals that show the largest of `values` with so many significant digits."""
    most = max((abs(value) for value in values if value is not None), default=0.0)
    places = digits - 1 - math.floor(math.log10(most)) if most > 0 else 0
    return min(_MOST_PLACES, max(0, places))


def number_column(
    values: Sequence[float | None], *, digits: int = 4, signed: bool = False
) -> list[str]:
    """Return `values` as text; a dash for what is not known.

    Args:
        digits: Significant digits of the largest.
        signed: Whether numbers above 0 get a plus.
    """
    places = places_for(values, digits)
    return [number_text(value, places, signed=signed) for value in values]


def number_text(value: float | None, places: int, *, signed: bool = False) -> str:
    """Return a number with so many decimals; what rounds to 0 has no sign."""
    if value is None:
        return UNKNOWN
    rounded = round(value, places) or 0.0
    text = f"{abs(rounded):,.{places}f}"
    if rounded < 0:
        return f"−{text}"
    return f"+{text}" if signed and rounded > 0 else text
