"""Processor time that a measurement was due and did not get."""

from __future__ import annotations

from enginescope.core.record import Record


class CpuLoss(Record, frozen=True, kw_only=True):
    """What the machine withheld during the timed loop.

    Attributes:
        steal_pct: Time that a hypervisor gave to other guests, as a share of the time in which this
            machine's processors had work.
        throttled_periods: Scheduling periods in which the container had used up its quota and was
            stopped.
        periods: Scheduling periods of the container in which it had work.
        throttled_ms: Time its threads were stopped, all processors together.
    """

    steal_pct: float | None = None
    throttled_periods: int | None = None
    periods: int | None = None
    throttled_ms: float | None = None
