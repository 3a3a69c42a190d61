"""Tell the memory that a model takes from what its runtime takes by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from enginescope.core.record import replace
from enginescope.core.units import format_bytes
from enginescope.records.verdict.upgrade import (
    MEMORY_FLOOR_BYTES,
    UpgradeKind,
    UpgradeReason,
    UpgradeRow,
)

#: Metric to its figures in processes with an empty model, of the old stack and of the new one.
LibraryMemory = Mapping[str, tuple[float, float]]
_MEMORY = frozenset({"peak_memory", "device_memory"})


def model_memory_row(row: UpgradeRow, library: Callable[[], LibraryMemory]) -> UpgradeRow:
    """Return a row of memory as the model's own growth decides it.

    The growth is the largest that the interval allows, less what an empty model's process grew by.
    It has to be above the row's limit and above `MEMORY_FLOOR_BYTES`.

    Args:
        library: Asked only where the memory of the whole process is beyond the limit.
    """
    if row.metric not in _MEMORY or row.kind is not UpgradeKind.WORSE or not row.old or not row.new:
        return row
    shares = library().get(row.metric)
    estimate = row.verdict.estimate if row.verdict else None
    interval = estimate.interval if estimate else None
    most = max(row.new, row.old * interval.high if interval else row.new) - row.old
    by_library = shares[1] - shares[0] if shares else 0.0
    text = f"{format_bytes(row.new - row.old)} more"
    if shares:
        before, after = map(format_bytes, shares)
        text += f"; the runtime by itself, with an empty model: {before} → {after}"
    allowed = max(MEMORY_FLOOR_BYTES, row.old * (row.limit_pct or 0.0) / 100)
    if most - by_library > allowed:
        return replace(row, message=text, library=shares)
    return replace(
        row,
        kind=UpgradeKind.SAFE,
        reason=UpgradeReason.SMALL_GROWTH.value,
        message=f"{text}; a model may take {format_bytes(allowed)} more",
        library=shares,
    )
