"""What a comparison is held to."""

from __future__ import annotations

import math

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.records.verdict.session_shift import SessionShift

#: Differences of whole requests up to this do not matter, in percent.
THRESHOLD_PCT = 1.0
#: What two processes of the same work are taken to differ by where nothing is known of it: half the
#: width of a 95 % interval, in percent. It covers standard deviations of 2 %; with less, processes
#: of such a scatter differ in a quarter of comparisons. ``enginescope noise`` measures it.
ASSUMED_SCATTER_PCT = 5.0


def check_pct(name: str, value: float, most: float) -> None:
    """Raise unless `value` is a percentage from 0 to `most`.

    Raises:
        UsageError: It is not; NaN never is.
    """
    if not 0 <= value <= most:
        raise UsageError(f"{name} {value:g}", why=f"not a percentage from 0 to {most:,g}")


class CompareConfig(Record, frozen=True, kw_only=True):
    """What a comparison is held to.

    Attributes:
        threshold_pct: Smaller differences do not matter.
        across: Conditions whose difference is meant.
        scatter_pct: What processes of the same work differ by, as measured on this machine;
            ``None``: assumed.
        confidence: Of each interval.
        sessions: Variation between the sessions of the two sides; ``None``: they share their
            sessions.
    """

    threshold_pct: float = THRESHOLD_PCT
    across: tuple[str, ...] = ()
    scatter_pct: float | None = None
    confidence: float = 0.95
    sessions: SessionShift | None = None

    @property
    def scatter(self) -> float:
        """What processes of the same work differ by, measured or assumed, in logarithms."""
        known = ASSUMED_SCATTER_PCT if self.scatter_pct is None else self.scatter_pct
        return math.log1p(known / 100)
