"""Latency counted in cycles of the SM clock: the same work at another clock costs as many."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.model.samples import Summary
from enginescope.stats.clock_around import ClockAround


class Cycles(Record, frozen=True, kw_only=True):
    """A metric's median in cycles.

    Attributes
    ----------
    metric : str
    cycles : float
        Median × the clock during the timed loop.
    low, high : float
        The same at the lowest and at the highest clock that was read.
    clock_mhz : float
    """

    metric: str
    cycles: float
    low: float
    high: float
    clock_mhz: float


def cycles_of(summary: Summary | None, clock: ClockAround | None) -> Cycles | None:
    """Return a metric's median in cycles; ``None`` where the clock was not read."""
    if summary is None or clock is None:
        return None
    per_mhz = summary.median_ms * 1e3
    return Cycles(
        metric=summary.metric,
        cycles=per_mhz * clock.during_mhz,
        low=per_mhz * clock.lowest_mhz,
        high=per_mhz * clock.highest_mhz,
        clock_mhz=clock.during_mhz,
    )
