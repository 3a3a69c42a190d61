"""Groups of layers: by type, property, precision or inner operation, and by amount."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Generic, TypeVar

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer

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
    groups = [_group(name, members) for name, members in found.items()]
    return tuple(sorted(groups, key=lambda one: (-(one.time_ms or 0.0), -one.layers)))


def _group(key: K, rows: list[LayerFacts]) -> LayerGroup[K]:
    times = [row.time_ms for row in rows if row.time_ms is not None]
    time_ms = sum(times) if times else None
    whole_ms = rows[0].whole_ms
    return LayerGroup(
        key=key,
        layers=len(rows),
        timed=len(times),
        time_ms=time_ms,
        share_pct=100 * time_ms / whole_ms if time_ms is not None and whole_ms else None,
    )


_FIELDS = (
    "Kernel Stride Groups Dilation OutMaps Activation Origin PoolingType WindowSize FirstTranspose "
    "Reshape SecondTranspose Mode Start Size Axes Axis Scales NbOperations"
)
#: Fields of the file that tell layers of a type apart, in the order of columns.
TELLING_FIELDS = tuple(_FIELDS.split())


class TypeTable(Record, frozen=True, kw_only=True):
    """One type of layer.

    Attributes:
        group: Its key is the type.
        slowest: The longest time first; where there are no times, in the plan's order.
        fields: Those of `TELLING_FIELDS` that any of these layers has.
    """

    group: LayerGroup[str]
    slowest: tuple[LayerFacts, ...]
    fields: tuple[str, ...]


def type_tables(view: PlanView, top: int = 20) -> tuple[TypeTable, ...]:
    """Return the types of the layers that do work, by time, then by number."""
    rows: dict[str, list[LayerFacts]] = {}
    for row in view.facts:
        rows.setdefault(row.layer.type, []).append(row)
    return tuple(
        _table(group, rows[group.key], top)
        for group in group_layers(view.facts, lambda row: row.layer.type)
    )


def _table(group: LayerGroup[str], rows: list[LayerFacts], top: int) -> TypeTable:
    slowest = tuple(sorted(rows, key=lambda row: -(row.time_ms or 0.0))[:top])
    have = {
        name for row in slowest for name, value in row.layer.attributes.items() if _tells(value)
    }
    return TypeTable(
        group=group,
        slowest=slowest,
        fields=tuple(name for name in TELLING_FIELDS if name in have),
    )


def _tells(value: Any) -> bool:
    return value not in (None, "", [])


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


_MEASURES: tuple[tuple[str, Callable[[LayerFacts], float | None]], ...] = (
    ("layers", lambda _: 1),
    ("time", lambda row: row.time_ms),
    ("MACs", lambda row: row.work.macs),
    ("activations", lambda row: row.size.activation_bytes),
    ("weights", lambda row: row.size.weights_bytes),
)


def precision_rollup(rows: Sequence[LayerFacts]) -> tuple[RollupPart, ...]:
    """Return each measure that has something to share, by precision; the largest part first."""
    found: list[RollupPart] = []
    for measure, value in _MEASURES:
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


#: Layer types made of operations on single elements, and Myelin's generated kernels.
POINTWISE_TYPES = frozenset({"ElementWise", "PointWise", "PointWiseV2", "Unary", "kgen"})

# "auto const var0 = pwgen::iMax(arg0, literal0);"
_CALL = re.compile(r"\bpwgen::i?([A-Za-z]\w*)\s*\(")
# "__myl_MulSumAdd_0x8622…" or "__myl_MulSumAdd_myl24_1"
_GENERATED = re.compile(r"^__myl_([A-Za-z0-9]+?)(?:_|$)")
_WORD = re.compile(r"[A-Z][a-z0-9]*")


class PointwiseOperation(Record, frozen=True, kw_only=True):
    """One operation and the layers that hold it.

    Attributes:
        operation: ``"Max"``, ``"Mul"``, …; ``None``: layers whose operations the plan does not
            tell.
        count: How often it occurs in them; for `operation` ``None`` the layers once more.
        time_ms: Sum of these layers' times. A layer of several operations counts under each.
        even_ms: The same with each layer's time shared out evenly among its operations: an
            estimate.
    """

    operation: str | None
    layers: int
    count: int
    time_ms: float | None
    even_ms: float | None


def operations_of(layer: Layer) -> tuple[str, ...]:
    """Return the operations that a plan tells of a layer, in their order; they may repeat."""
    told: object = layer.attributes.get("Operations")
    lines = told if isinstance(told, list) else []
    calls = [name for line in lines for name in _CALL.findall(str(line))]
    if calls:
        return tuple(calls)
    for name in (layer.tactic_name, layer.name):
        match = _GENERATED.match(name or "")
        if match:
            return tuple(_WORD.findall(match[1]))
    return ()


def pointwise_operations(rows: Iterable[LayerFacts]) -> tuple[PointwiseOperation, ...]:
    """Return the operations of the pointwise layers among `rows`, by time, then by count."""
    holders: dict[str | None, list[tuple[LayerFacts, int, int]]] = {}
    for row in rows:
        if not {row.layer.type, row.layer.subtype} & POINTWISE_TYPES:
            continue
        told = Counter(operations_of(row.layer))
        every: Counter[str | None] = Counter(dict(told)) if told else Counter({None: 1})
        for operation, count in every.items():
            holders.setdefault(operation, []).append((row, count, every.total()))
    found = [_operation(name, members) for name, members in holders.items()]
    return tuple(sorted(found, key=lambda one: (-(one.time_ms or 0.0), -one.count)))


def _operation(name: str | None, members: list[tuple[LayerFacts, int, int]]) -> PointwiseOperation:
    timed = [
        (row.time_ms, count / total) for row, count, total in members if row.time_ms is not None
    ]
    return PointwiseOperation(
        operation=name,
        layers=len(members),
        count=sum(count for _, count, _ in members),
        time_ms=sum(ms for ms, _ in timed) if timed else None,
        even_ms=sum(ms * part for ms, part in timed) if timed else None,
    )


#: A wider range than this ratio gets logarithmic bins. With `_FEWEST_BINS`, the first bin of equal
#: width then begins above 0.
_MOST_EVEN_RATIO = 7.0
_FEWEST_BINS = 8
#: Preferred numbers within a decade, coarse to fine (ISO 3's R5 and R10, rounded). Their ratios are
#: nearly equal: unequal ones would show as a comb in an even distribution.
_DECADES = (
    (1.0,),
    (1.0, 1.6, 2.5, 4.0, 6.3),
    (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0),
)
#: Steps within a power of two, coarse to fine.
_OCTAVES = ((1.0,), (1.0, 1.41))


class AmountBin(Record, frozen=True, kw_only=True):
    """Values of at least `low` and below `high`; both are 0 for the values that are exactly 0.

    Attributes:
        total: Sum of the values.
    """

    low: float
    high: float
    count: int
    total: float


def is_even_range(values: Sequence[float]) -> bool:
    """Whether `amount_bins` gives the positive `values` bins of one width, not of one ratio."""
    positive = [value for value in values if value > 0]
    return not positive or max(positive) <= _MOST_EVEN_RATIO * min(positive)


def amount_bins(values: Sequence[float], *, binary: bool = False) -> tuple[AmountBin, ...]:
    """Return non-negative `values` in bins that cover their range; empty bins too.

    Values within a factor of 7 get at least 8 bins of one width. Others get logarithmic bins: each
    is wider than the bin before it.

    Args:
        binary: Edges are binary numbers, for bytes; else round decimal numbers.
    """
    positive = sorted(value for value in values if value > 0)
    zeros = len(values) - len(positive)
    bins = [AmountBin(low=0.0, high=0.0, count=zeros, total=0.0)] if zeros else []
    if not positive:
        return tuple(bins)
    edges_of = _even_edges if is_even_range(positive) else _log_edges
    edges = edges_of(positive[0], positive[-1], 2.0 if binary else 10.0)
    at = 0
    for low, high in pairwise(edges):
        start = at
        while at < len(positive) and positive[at] < high:
            at += 1
        inside = positive[start:at]
        bins.append(AmountBin(low=low, high=high, count=len(inside), total=sum(inside)))
    return tuple(bins)


def _even_edges(least: float, greatest: float, base: float) -> list[float]:
    """Return multiples of the largest round step that gives the fewest bins or more."""
    finest = max((greatest - least) / (3 * _FEWEST_BINS), greatest * 1e-6)
    power = math.floor(math.log(finest, base))
    steps = [
        _round(step, base, power + more)
        for more in range(8)
        for step in ((1.0,) if base == 2 else (1.0, 2.0, 5.0))
    ]
    edges: list[float] = []
    for step in steps:
        first, last = math.floor(least / step), math.floor(greatest / step) + 1
        if edges and last - first < _FEWEST_BINS:
            break
        edges = [float(f"{number * step:.12g}") for number in range(first - 1, last + 2)]
    low = max(edge for edge in edges if edge <= least)
    high = min(edge for edge in edges if edge > greatest)
    return [edge for edge in edges if low <= edge <= high]


def _log_edges(least: float, greatest: float, base: float) -> list[float]:
    edges: list[float] = []
    for steps in _OCTAVES if base == 2 else _DECADES:
        edges = list(_covering(least, greatest, steps, base))
        if len(edges) > _FEWEST_BINS:
            break
    return edges


def _covering(
    least: float, greatest: float, steps: tuple[float, ...], base: float
) -> Iterator[float]:
    """Round numbers from the last that is at most `least` to the first above `greatest`."""
    power = math.floor(math.log(least, base))
    if base**power > least:  # the logarithm was rounded up
        power -= 1
    every = (_round(step, base, power + more) for more in range(400) for step in steps)
    before = next(every)
    for edge in every:
        if edge > least:
            yield before
        before = edge
        if edge > greatest:
            yield edge
            return


def _round(step: float, base: float, power: int) -> float:
    return step * base**power if base == 2 else float(f"{step:.6g}e{power}")
