"""What the charts of a report card show: points of layers, and groups of layers.

What of a layer can be put on an axis, or be a color.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from enginescope.analysis.plans.plan_columns import VALUES, LayerFacts
from enginescope.analysis.roofline.matrix_product import groups_of
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.judge.samples import Array
from enginescope.records.plan.plan import Layer

#: More points than this are put together.
MOST_POINTS = 600

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
    if len(kept) > MOST_POINTS:
        return Clusters(points=_together(points, _cells(points)), left_out=left_out)
    alone = (
        Cluster(key=key(row), x=at, y=up, layers=1, time_ms=row.time_ms, example=row)
        for row, at, up in kept
    )
    return Clusters(points=tuple(alone), left_out=left_out)


def _cells(points: _Points) -> Indices:
    """Cell of each layer, numbered from 0; the cells as fine as `MOST_POINTS` allows."""
    names = {name: at for at, name in enumerate(dict.fromkeys(points.keys))}
    key = np.array([names[one] for one in points.keys])
    inverse = key
    log_x, log_y = np.log10(points.x), np.log10(points.y)
    for fineness in (24, 12, 6, 3, 1):  # cells in a decade
        x, y = (np.floor((log - log.min()) * fineness).astype(np.int64) for log in (log_x, log_y))
        cells = (((key << 14) + x) << 14) + y  # 600 decades hold every float
        found, inverse = np.unique(cells, return_inverse=True)
        if len(found) <= MOST_POINTS:
            break
    return inverse


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
    x, y = (_middles(values[order], starts, counts) for values in (points.x, points.y))
    amounts = (counts.tolist(), sums.tolist(), timed.tolist())
    columns = zip(greatest, x, y, *amounts, strict=True)
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


def _value(column: str, unit: float | None) -> Value:
    if column == "Groups":
        return lambda row: groups_of(row.layer)
    read = VALUES[column]
    if unit is None:
        return read
    return lambda row: None if (value := read(row)) is None else value / unit


QUANTITIES = {
    name: Quantity(name=name, title=title, column=column, value=_value(column, unit))
    for name, title, column, unit in (
        ("time", "time, ms", "latency.avg_time", None),
        ("macs", "multiply-accumulates, millions", "attr.macs", 1e6),
        ("weights", "weights, MiB", "weights_size", _MIB),
        ("activations", "activations read and written, MiB", "total_io_size_bytes", _MIB),
        ("footprint", "activations and weights, MiB", "total_footprint_bytes", _MIB),
        ("intensity", "arithmetic intensity, MACs per byte", "attr.arithmetic_intensity", None),
        ("compute", "compute rate, billion MACs per second", "attr.compute_efficiency", 1e6),
        ("bandwidth", "memory rate, GB/s", "attr.memory_efficiency", 1e6),
        ("groups", "groups", "Groups", None),
        ("m", "m: rows of the product", "gemm.m", None),
        ("n", "n: columns of the product", "gemm.n", None),
        ("k", "k: terms of its sums", "gemm.k", None),
    )
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


K = TypeVar("K", bound=Hashable)


class LayerGroup(Record, Generic[K], frozen=True, kw_only=True):
    """Layers that share a property.

    Attributes:
        key: The property's value.
        layers, timed: All of them, and those that have a time.
        time_ms, share_pct: Sum of the known times; what part that is of the sum over the plan.
            ``None`` if no layer of the group has a time.
    """

    key: K
    layers: int
    timed: int
    time_ms: float | None
    share_pct: float | None


def group_layers(
    rows: Iterable[LayerFacts], key: Callable[[LayerFacts], K]
) -> tuple[LayerGroup[K], ...]:
    """Group layers by `key`, by time, then by number, then as they first appear."""
    found: dict[K, list[LayerFacts]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    groups = []
    for name, members in found.items():
        times = [row.time_ms for row in members if row.time_ms is not None]
        ms, whole_ms = sum(times) if times else None, members[0].whole_ms
        pct = 100 * ms / whole_ms if ms is not None and whole_ms else None
        layers, timed = len(members), len(times)
        groups += [LayerGroup(key=name, layers=layers, timed=timed, time_ms=ms, share_pct=pct)]
    return tuple(sorted(groups, key=lambda one: (-(one.time_ms or 0.0), -one.layers)))


UNKNOWN = "not known"


class RollupPart(Record, frozen=True, kw_only=True):
    """What one precision has of one measure.

    Attributes:
        measure: ``"layers"``, ``"time"``, ``"MACs"``, ``"activations"`` or ``"weights"``.
        precision: Of the layers' first inputs; ``"not known"``.
        value: Number, milliseconds, multiply-accumulates or bytes; what is not known is left out.
        share_pct: Of the sum over the layers whose value is known.
    """

    measure: str
    precision: str
    value: float
    share_pct: float


def precision_rollup(rows: Sequence[LayerFacts]) -> tuple[RollupPart, ...]:
    """Return each measure that has something to share, by precision; the largest part first."""
    found: list[RollupPart] = []
    measures: tuple[tuple[str, Value], ...] = (
        ("layers", lambda _: 1),
        ("time", lambda row: row.time_ms),
        ("MACs", lambda row: row.work.macs),
        ("activations", lambda row: row.size.activation_bytes),
        ("weights", lambda row: row.size.weights_bytes),
    )
    for measure, value in measures:
        sums: dict[str, float] = {}
        for row in rows:
            amount = value(row)
            if amount:
                name = row.precision or UNKNOWN
                sums[name] = sums.get(name, 0.0) + amount
        whole = sum(sums.values())
        found += (
            RollupPart(measure=measure, precision=name, value=one, share_pct=100 * one / whole)
            for name, one in sorted(sums.items(), key=lambda item: -item[1])
        )
    return tuple(found)


def operations_of(layer: Layer) -> tuple[str, ...]:
    """Return the operations that a plan tells of a layer, in their order; they may repeat."""
    told: object = layer.attributes.get("Operations")
    lines = told if isinstance(told, list) else []
    # "auto const var0 = pwgen::iMax(arg0, literal0);"
    call = re.compile(r"\bpwgen::i?([A-Za-z]\w*)\s*\(")
    calls = [name for line in lines for name in call.findall(str(line))]
    if calls:
        return tuple(calls)
    for name in (layer.tactic_name, layer.name):
        # "__myl_MulSumAdd_0x8622…" or "__myl_MulSumAdd_myl24_1"
        match = re.match(r"__myl_([A-Za-z0-9]+?)(?:_|$)", name or "")
        if match:
            return tuple(re.findall(r"[A-Z][a-z0-9]*", match[1]))
    return ()
