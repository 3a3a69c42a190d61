"""A ratio with its interval against the most that may be lost.

`decide` asks whether two sides differ; a gate asks whether one of them is worse than is allowed,
so that an interval may be wide on the better side without leaving the answer open.
"""

from __future__ import annotations

import math
from enum import Enum

from enginescope.judge.verdict import RatioEstimate


class NonInferiority(Enum):
    """Where a ratio lies."""

    WORSE = "worse"
    BETTER = "better"
    WITHIN = "within"
    OPEN = "open"


def non_inferiority(
    estimate: RatioEstimate, limit_pct: float, *, higher_is_better: bool = False
) -> NonInferiority:
    """Return whether B is worse than A by more than a limit.

    ``WORSE``: the ratio lies beyond the limit and its interval leaves out 1. ``BETTER``: the same
    on the other side. ``WITHIN``: the whole interval is short of the limit, however far it reaches
    towards the better. ``OPEN``: everything else, and whatever has no interval.

    Args:
        estimate: B ÷ A.
        limit_pct: 5 means ratios of up to 1.05 for a time, down to 1/1.05 for a rate.
        higher_is_better: Of a rate; else of a time or a size.
    """
    interval = estimate.interval
    if interval is None:
        return NonInferiority.OPEN
    edge = math.log1p(limit_pct / 100)
    low, middle, high = (math.log(one) for one in (interval.low, estimate.ratio, interval.high))
    if higher_is_better:
        low, middle, high = -high, -middle, -low
    if middle > edge and low > 0:
        return NonInferiority.WORSE
    if middle < -edge and high < 0:
        return NonInferiority.BETTER
    return NonInferiority.WITHIN if high <= edge else NonInferiority.OPEN
