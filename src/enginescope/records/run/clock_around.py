"""The SM clock before, during and after a timed loop, and what held it down."""

from __future__ import annotations

import numpy as np

from enginescope.core.record import Record
from enginescope.judge.samples import Array
from enginescope.records.run.telemetry import (
    SM_CLOCK,
    THROTTLE,
    THROTTLE_REASONS,
    Telemetry,
    ThrottleReason,
)


class ClockAround(Record, frozen=True, kw_only=True):
    """What the clock did around a timed loop.

    Attributes:
        during_mhz: The median of the readings between its stretches; of the first and the last
            where there is none in between.
    """

    before_mhz: float
    during_mhz: float
    after_mhz: float
    lowest_mhz: float
    highest_mhz: float
    readings: int

    @property
    def drop_pct(self) -> float:
        """How far the clock fell below that before the loop, in percent; never negative."""
        least = min(self.during_mhz, self.after_mhz)
        return max(0.0, 100 * (1 - least / self.before_mhz))


class Held(Record, frozen=True, kw_only=True):
    """A reason that was read, and in how many of the readings.

    Attributes:
        share_pct: Of the readings that told reasons.
    """

    reason: ThrottleReason
    share_pct: float


def clock_around(timed: Telemetry | None) -> ClockAround | None:
    """Return what the clock did; ``None`` with fewer than two readings."""
    clock = timed.channel(SM_CLOCK) if timed else None
    known = clock[np.isfinite(clock) & (clock > 0)] if clock is not None else np.empty(0)
    if known.size < 2:
        return None
    between = known[1:-1] if known.size > 2 else known
    return ClockAround(
        before_mhz=float(known[0]),
        during_mhz=float(np.median(between)),
        after_mhz=float(known[-1]),
        lowest_mhz=float(known.min()),
        highest_mhz=float(known.max()),
        readings=int(known.size),
    )


def held_by(series: Telemetry | None) -> tuple[Held, ...]:
    """Return the reasons in the readings of a series, the most frequent first."""
    bits = series.channel(THROTTLE) if series else None
    known: Array = bits[np.isfinite(bits)].astype(np.int64) if bits is not None else np.empty(0)
    if not known.size:
        return ()
    shares = ((one, 100 * float(np.mean((known & one.bit) != 0))) for one in THROTTLE_REASONS)
    found = [Held(reason=one, share_pct=share) for one, share in shares if share > 0]
    return tuple(sorted(found, key=lambda one: -one.share_pct))
