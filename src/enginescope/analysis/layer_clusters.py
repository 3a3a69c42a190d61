"""Layers as points of a scatter plot; near ones of a large plan together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enginescope.analysis.plan_column_table import LayerFacts
from enginescope.core.record import Record
from enginescope.model.samples import Array

#: More points than this are put together.
MOST_POINTS = 600
#: Cells in a decade, fine to coarse.
_CELLS = (24, 12, 6, 3, 1)
#: More than the cells of an axis: 600 decades hold every float.
_SPAN = 1 << 14

Value = Callable[[LayerFacts], "float | None"]
Indices = NDArray[np.int64]


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


class _Points(NamedTuple):
    """Columns of equal length, one entry a layer."""

    rows: list[LayerFacts]
    keys: list[str]
    x: Array
    y: Array


def clusters(
    rows: Iterable[LayerFacts], x: Value, y: Value, key: Callable[[LayerFacts], str]
) -> Clusters:
    """Return layers by two positive values; those of a key within a cell put together if many."""
    every = [(row, x(row), y(row)) for row in rows]
    kept = [(row, at, up) for row, at, up in every if at and up and at > 0 and up > 0]
    left_out = len(every) - len(kept)
    if not kept:
        return Clusters(points=(), left_out=left_out)
    points = _Points(
        [row for row, _, _ in kept],
        [key(row) for row, _, _ in kept],
        np.array([at for _, at, _ in kept], dtype=np.float64),
        np.array([up for _, _, up in kept], dtype=np.float64),
    )
    members = _alone(points) if len(kept) <= MOST_POINTS else _near(points)
    return Clusters(points=tuple(_cluster(points, one) for one in members), left_out=left_out)


def _alone(points: _Points) -> list[Indices]:
    return [np.array([at]) for at in range(len(points.rows))]


def _near(points: _Points) -> list[Indices]:
    """Layers of each cell that has any, the cells as fine as `MOST_POINTS` allows."""
    names = {name: at for at, name in enumerate(dict.fromkeys(points.keys))}
    key = np.array([names[one] for one in points.keys])
    inverse = key
    log_x, log_y = np.log10(points.x), np.log10(points.y)
    for fineness in _CELLS:
        cells = (key * _SPAN + _places(log_x, fineness)) * _SPAN + _places(log_y, fineness)
        found, inverse = np.unique(cells, return_inverse=True)
        if len(found) <= MOST_POINTS:
            break
    order = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse))
    return np.split(order, ends[:-1])


def _places(logs: Array, fineness: int) -> Indices:
    places: Indices = np.floor((logs - logs.min()) * fineness).astype(np.int64)
    return places


def _cluster(points: _Points, members: Indices) -> Cluster:
    rows = [points.rows[at] for at in members]
    times = [row.mean_ms for row in rows if row.mean_ms is not None]
    x, y = points.x[members], points.y[members]
    return Cluster(
        key=points.keys[members[0]],
        x=_middle(x),
        y=_middle(y),
        layers=len(rows),
        mean_ms=sum(times) if times else None,
        example=rows[int(np.argmax(y))],
    )


def _middle(values: Array) -> float:
    if values.size == 1:
        return float(values[0])
    return float(np.exp(np.log(values).mean()))
