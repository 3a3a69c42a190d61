"""Layers as points of a scatter plot; near ones of a large plan together.

What of a layer can be put on an axis, or be a color.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.roofline.matrix_product import MatrixProduct, groups_of
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.judge.samples import Array

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

    Attributes:
        x, y: Of the one layer, else the geometric means.
        time_ms: Sum of their known times.
        example: The one with the greatest y.
    """

    key: str
    x: float
    y: float
    layers: int
    time_ms: float | None
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
    if len(kept) <= MOST_POINTS:
        return Clusters(points=_alone(points), left_out=left_out)
    return Clusters(points=_together(points, _cells(points)), left_out=left_out)


def _alone(points: _Points) -> tuple[Cluster, ...]:
    columns = zip(points.rows, points.keys, points.x.tolist(), points.y.tolist(), strict=True)
    return tuple(
        Cluster(key=key, x=x, y=y, layers=1, time_ms=row.time_ms, example=row)
        for row, key, x, y in columns
    )


def _cells(points: _Points) -> Indices:
    """Cell of each layer, numbered from 0; the cells as fine as `MOST_POINTS` allows."""
    names = {name: at for at, name in enumerate(dict.fromkeys(points.keys))}
    key = np.array([names[one] for one in points.keys])
    inverse = key
    log_x, log_y = np.log10(points.x), np.log10(points.y)
    for fineness in _CELLS:
        cells = (key * _SPAN + _places(log_x, fineness)) * _SPAN + _places(log_y, fineness)
        found, inverse = np.unique(cells, return_inverse=True)
        if len(found) <= MOST_POINTS:
            break
    return inverse


def _places(logs: Array, fineness: int) -> Indices:
    places: Indices = np.floor((logs - logs.min()) * fineness).astype(np.int64)
    return places


def _together(points: _Points, cells: Indices) -> tuple[Cluster, ...]:
    """One point for each cell."""
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells)
    starts = np.cumsum(counts) - counts
    greatest = np.lexsort((-points.y, cells))[starts].tolist()
    times = np.array([row.time_ms for row in points.rows], dtype=np.float64)  # None is NaN
    missing = np.isnan(times)
    timed = np.bincount(cells, weights=~missing)
    sums = np.bincount(cells, weights=np.where(missing, 0.0, times))
    columns = zip(
        greatest,
        _middles(points.x[order], starts, counts),
        _middles(points.y[order], starts, counts),
        counts.tolist(),
        sums.tolist(),
        timed.tolist(),
        strict=True,
    )
    return tuple(
        Cluster(
            key=points.keys[at],
            x=x,
            y=y,
            layers=count,
            time_ms=total if known else None,
            example=points.rows[at],
        )
        for at, x, y, count, total, known in columns
    )


def _middles(values: Array, starts: Indices, counts: Indices) -> list[float]:
    """Geometric mean of each stretch of `values`; of equal ones, what they are."""
    means = np.exp(np.add.reduceat(np.log(values), starts) / counts)
    least, greatest = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    found: list[float] = np.clip(means, least, greatest).tolist()
    return found


_MIB = 1 << 20


class Quantity(Record, frozen=True, kw_only=True):
    """A number that layers have.

    Attributes:
        title: With the unit of `value`.
        column: The column of `PlanView.columns` that it comes from.
        value: From a layer's facts; ``None`` where it is not known.
    """

    name: str
    title: str
    column: str
    value: Callable[[LayerFacts], float | None]


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _of_product(read: Callable[[MatrixProduct], int]) -> Callable[[LayerFacts], float | None]:
    return lambda row: read(row.work.product) if row.work.product else None


# name, title, column, value
_TABLE: tuple[tuple[str, str, str, Callable[[LayerFacts], float | None]], ...] = (
    ("time", "time, ms", "latency.avg_time", lambda row: row.time_ms),
    (
        "macs",
        "multiply-accumulates, millions",
        "attr.macs",
        lambda row: _scaled(row.work.macs, 1e6),
    ),
    ("weights", "weights, MiB", "weights_size", lambda row: _scaled(row.size.weights_bytes, _MIB)),
    (
        "activations",
        "activations read and written, MiB",
        "total_io_size_bytes",
        lambda row: _scaled(row.size.activation_bytes, _MIB),
    ),
    (
        "footprint",
        "activations and weights, MiB",
        "total_footprint_bytes",
        lambda row: _scaled(row.size.footprint_bytes, _MIB),
    ),
    (
        "intensity",
        "arithmetic intensity, MACs per byte",
        "attr.arithmetic_intensity",
        lambda row: row.work.arithmetic_intensity,
    ),
    (
        "compute",
        "compute rate, billion MACs per second",
        "attr.compute_efficiency",
        lambda row: _scaled(row.work.compute_efficiency(row.time_ms), 1e6),
    ),
    (
        "bandwidth",
        "memory rate, GB/s",
        "attr.memory_efficiency",
        lambda row: _scaled(row.work.memory_efficiency(row.time_ms), 1e6),
    ),
    ("groups", "groups", "Groups", lambda row: groups_of(row.layer)),
    ("m", "m: rows of the product", "gemm.m", _of_product(lambda one: one.m)),
    ("n", "n: columns of the product", "gemm.n", _of_product(lambda one: one.n)),
    ("k", "k: terms of its sums", "gemm.k", _of_product(lambda one: one.k)),
)

QUANTITIES = {
    name: Quantity(name=name, title=title, column=column, value=value)
    for name, title, column, value in _TABLE
}


def quantity_named(name: str) -> Quantity:
    """Return one of `QUANTITIES`."""
    if name in QUANTITIES:
        return QUANTITIES[name]
    raise UsageError(
        f"{name!r} is not a quantity of a layer",
        why=f"there are {', '.join(QUANTITIES)}",
        hint=did_you_mean(name, QUANTITIES),
    )
