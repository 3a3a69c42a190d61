"""Layers as points of a scatter plot; near ones of a large plan together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from enginescope.analysis.plan_column_table import LayerFacts
from enginescope.core.record import Record

#: More points than this are put together.
MOST_POINTS = 1_000
#: Cells in a decade, fine to coarse.
_CELLS = (40, 20, 10, 5, 2, 1)

Value = Callable[[LayerFacts], "float | None"]


class Cluster(Record, frozen=True, kw_only=True):
    """One layer, or several that lie close to each other and share a property.

    Attributes
    ----------
    key : str
    x, y : float
        Of the one layer, else the geometric means.
    layers : int
    mean_ms : float or None
        Sum of their known mean times.
    example : LayerFacts
        The one with the greatest y.
    """

    key: str
    x: float
    y: float
    layers: int
    mean_ms: float | None
    example: LayerFacts


class Clusters(Record, frozen=True, kw_only=True):
    """Points to draw, and how many layers have none: a value is not known, or 0."""

    points: tuple[Cluster, ...]
    left_out: int


class _Point(NamedTuple):
    key: str
    x: float
    y: float
    row: LayerFacts


def clusters(
    rows: Iterable[LayerFacts], x: Value, y: Value, key: Callable[[LayerFacts], str]
) -> Clusters:
    """Return layers by two positive values; those of a key within a cell put together if many."""
    points, left_out = [], 0
    for row in rows:
        at, up = x(row), y(row)
        if at and up and at > 0 and up > 0:
            points.append(_Point(key(row), at, up, row))
        else:
            left_out += 1
    if len(points) <= MOST_POINTS:
        return Clusters(points=tuple(_cluster([one]) for one in points), left_out=left_out)
    cells: dict[tuple[str, int, int], list[_Point]] = {}
    for fineness in _CELLS:
        cells = {}
        for one in points:
            cells.setdefault(_cell(one, fineness), []).append(one)
        if len(cells) <= MOST_POINTS:
            break
    return Clusters(points=tuple(_cluster(one) for one in cells.values()), left_out=left_out)


def _cell(one: _Point, fineness: int) -> tuple[str, int, int]:
    across, up = math.log10(one.x), math.log10(one.y)
    return one.key, math.floor(across * fineness), math.floor(up * fineness)


def _cluster(points: list[_Point]) -> Cluster:
    times = [one.row.mean_ms for one in points if one.row.mean_ms is not None]
    return Cluster(
        key=points[0].key,
        x=_middle([one.x for one in points]),
        y=_middle([one.y for one in points]),
        layers=len(points),
        mean_ms=sum(times) if times else None,
        example=max(points, key=lambda one: one.y).row,
    )


def _middle(values: list[float]) -> float:
    if len(values) == 1:
        return values[0]
    return math.exp(sum(math.log(one) for one in values) / len(values))
