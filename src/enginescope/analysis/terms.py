"""What a comparison is held to."""

from __future__ import annotations

import math

from enginescope.core.record import Record

#: What two processes of the same work are taken to differ by where nothing is known of it: half the
#: width of a 95 % interval, in percent. It covers standard deviations of 2 %; with less, processes
#: of such a scatter differ in a quarter of comparisons. ``enginescope noise`` measures it.
ASSUMED_SCATTER_PCT = 5.0


class Terms(Record, frozen=True, kw_only=True):
    """What a comparison is held to.

    Attributes
    ----------
    threshold_pct : float
        Smaller differences do not matter.
    across : tuple of str
        Conditions whose difference is meant.
    scatter_pct : float or None
        What processes of the same work differ by, as measured on this machine; ``None``: assumed.
    confidence : float
        Of each interval.
    """

    threshold_pct: float = 1.0
    across: tuple[str, ...] = ()
    scatter_pct: float | None = None
    confidence: float = 0.95

    @property
    def scatter(self) -> float:
        """What processes of the same work differ by, measured or assumed, in logarithms."""
        known = ASSUMED_SCATTER_PCT if self.scatter_pct is None else self.scatter_pct
        return math.log1p(known / 100)
