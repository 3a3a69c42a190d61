"""A plan in execution order, cut into stretches short enough in number to draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.core.record import Record

#: Most stretches of a picture.
MOST_STRETCHES = 240


class Stretch(Record, frozen=True, kw_only=True):
    """Layers one after the other.

    Attributes:
        first, last: Positions among the layers that do work, from 1.
        parts: Property and the sum of the known values of the layers that have it.
        largest: Name of the layer with the greatest value.
    """

    first: int
    last: int
    parts: tuple[tuple[str, float], ...]
    largest: str


def stretches(
    rows: Sequence[LayerFacts],
    key: Callable[[LayerFacts], str],
    value: Callable[[LayerFacts], float | None],
    most: int = MOST_STRETCHES,
) -> tuple[Stretch, ...]:
    """Return `rows` in stretches of equal count, values summed by `key`; empty without values."""
    if all(value(row) is None for row in rows):
        return ()
    step = -(-len(rows) // most)
    return tuple(
        _stretch(start, rows[start : start + step], key, value)
        for start in range(0, len(rows), step)
    )


def _stretch(
    start: int,
    rows: Sequence[LayerFacts],
    key: Callable[[LayerFacts], str],
    value: Callable[[LayerFacts], float | None],
) -> Stretch:
    parts: dict[str, float] = {}
    for row in rows:
        name = key(row)
        parts[name] = parts.get(name, 0.0) + (value(row) or 0.0)
    return Stretch(
        first=start + 1,
        last=start + len(rows),
        parts=tuple(parts.items()),
        largest=max(rows, key=lambda row: value(row) or 0.0).layer.name,
    )
