"""Layers that share a property: how many, and their time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.core.record import Record

K = TypeVar("K", bound=Hashable)


class LayerGroup(Record, Generic[K], frozen=True, kw_only=True):
    """Layers that share a property.

    Attributes:
        key: The property's value.
        layers, timed: All of them, and those that have a time.
        mean_ms, share_pct: Sum of the known mean times; what part that is of the sum over the plan.
            ``None`` if no layer of the group has a time.
    """

    key: K
    layers: int
    timed: int
    mean_ms: float | None
    share_pct: float | None


def group_layers(
    rows: Iterable[LayerFacts], key: Callable[[LayerFacts], K]
) -> tuple[LayerGroup[K], ...]:
    """Group layers by `key`, by time, then by number, then as they first appear."""
    found: dict[K, list[LayerFacts]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    groups = [_group(name, members) for name, members in found.items()]
    return tuple(sorted(groups, key=lambda one: (-(one.mean_ms or 0.0), -one.layers)))


def _group(key: K, rows: list[LayerFacts]) -> LayerGroup[K]:
    times = [row.mean_ms for row in rows if row.mean_ms is not None]
    mean_ms = sum(times) if times else None
    whole_ms = rows[0].whole_ms
    return LayerGroup(
        key=key,
        layers=len(rows),
        timed=len(times),
        mean_ms=mean_ms,
        share_pct=100 * mean_ms / whole_ms if mean_ms is not None and whole_ms else None,
    )
