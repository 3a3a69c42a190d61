"""Layers as points of a scatter plot; near ones of a large plan together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from enginescope.analysis.plan_column_table import LayerFacts
from enginescope.core.record import Record

#: More points than this are put together.
MOST_POINTS = 600
#: Cells in a decade, fine to coarse.
_CELLS = (24, 12, 6, 3, 1)

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
    log_x: float
    log_y: float
    row: LayerFacts


def clusters(
    rows: Iterable[LayerFacts], x: Value, y: Value, key: Callable[[LayerFacts], str]
) -> Clusters:
    """Return layers by two positive values; those of a key within a cell put together if many."""
    points, left_out = [], 0
    for row in rows:
        across, up = x(row), y(row)
        if across and up and across > 0 and up > 0:
            points.append(_Point(key(row), math.log10(across), math.log10(up), row))
        else:
            left_out += 1
    if len(points) <= MOST_POINTS:
        alone = (_cluster([one], x, y) for one in points)
        return Clusters(points=tuple(alone), left_out=left_out)
    cells: dict[tuple[str, int, int], list[_Point]] = {}
    for fineness in _CELLS:
        cells = {}
        for one in points:
            place = (one.key, int(one.log_x * fineness // 1), int(one.log_y * fineness // 1))
            cells.setdefault(place, []).append(one)
        if len(cells) <= MOST_POINTS:
            break
    return Clusters(points=tuple(_cluster(one, x, y) for one in cells.values()), left_out=left_out)


def _cluster(points: list[_Point], x: Value, y: Value) -> Cluster:
    times = [one.row.mean_ms for one in points if one.row.mean_ms is not None]
    return Cluster(
        key=points[0].key,
        x=_middle(points, x, [one.log_x for one in points]),
        y=_middle(points, y, [one.log_y for one in points]),
        layers=len(points),
        mean_ms=sum(times) if times else None,
        example=max(points, key=lambda one: one.log_y).row,
    )


def _middle(points: list[_Point], value: Value, logs: list[float]) -> float:
    """The value itself of one layer, else the geometric mean."""
    if len(points) == 1:
        return value(points[0].row) or 0.0
    return float(10 ** (sum(logs) / len(logs)))
