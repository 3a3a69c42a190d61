"""Operations fused into pointwise layers and generated kernels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer

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
        mean_ms: Sum of these layers' mean times. A layer of several operations counts under each.
        even_ms: The same with each layer's time shared out evenly among its operations: an
            estimate.
    """

    operation: str | None
    layers: int
    count: int
    mean_ms: float | None
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
    return tuple(sorted(found, key=lambda one: (-(one.mean_ms or 0.0), -one.count)))


def _operation(name: str | None, members: list[tuple[LayerFacts, int, int]]) -> PointwiseOperation:
    timed = [
        (row.mean_ms, count / total) for row, count, total in members if row.mean_ms is not None
    ]
    return PointwiseOperation(
        operation=name,
        layers=len(members),
        count=sum(count for _, count, _ in members),
        mean_ms=sum(ms for ms, _ in timed) if timed else None,
        even_ms=sum(ms * part for ms, part in timed) if timed else None,
    )
