"""How much of a plan each precision has: layers, time, work, bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.core.record import Record

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
    ("time", lambda row: row.mean_ms),
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
