"""Groups of layers by a property or by precision, and the operations inside a layer."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from enginescope.analysis.plans.plan_column_table import LayerFacts
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


# "auto const var0 = pwgen::iMax(arg0, literal0);"
_CALL = re.compile(r"\bpwgen::i?([A-Za-z]\w*)\s*\(")
# "__myl_MulSumAdd_0x8622…" or "__myl_MulSumAdd_myl24_1"
_GENERATED = re.compile(r"^__myl_([A-Za-z0-9]+?)(?:_|$)")
_WORD = re.compile(r"[A-Z][a-z0-9]*")


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
