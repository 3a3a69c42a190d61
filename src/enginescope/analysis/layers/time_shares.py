"""Where the time goes, by a property of the layers."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.core.record import Record


class TimeShare(Record, frozen=True, kw_only=True):
    """Layers that share a property, and their time.

    Attributes:
        key: The property's value; ``None``: not known.
        layers: How many have a time.
        mean_ms: Sum of their mean times.
        share_pct: Of the sum over all layers; ``None`` at a sum of 0.
    """

    key: str | None
    layers: int
    mean_ms: float
    share_pct: float | None


def time_by(
    rows: tuple[LayerRow, ...], key: Callable[[LayerRow], str | None]
) -> tuple[TimeShare, ...]:
    """Group the timed rows by `key`, the longest time first; containers are left out."""
    groups: dict[str | None, list[float]] = {}
    for row in rows:
        if row.mean_ms is not None and not row.is_container:
            groups.setdefault(key(row), []).append(row.mean_ms)
    whole_ms = sum(sum(times) for times in groups.values())
    shares = [
        TimeShare(
            key=name,
            layers=len(times),
            mean_ms=sum(times),
            share_pct=100 * sum(times) / whole_ms if whole_ms else None,
        )
        for name, times in groups.items()
    ]
    return tuple(sorted(shares, key=lambda one: (-one.mean_ms, one.key or "")))
