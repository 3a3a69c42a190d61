"""From a ratio and its interval to a verdict; when to look, and how sure to be at each look.

A difference counts when the interval leaves out 1 and the ratio itself is beyond the threshold.
Two sides are the same when the whole interval lies within it. Everything else is undecided.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from enginescope.records.verdict.verdict import RatioEstimate, Reason, VerdictKind

#: Rounds after which an interleaved comparison may stop. So many at most see 2 % where processes
#: scatter by a standard deviation of 2 %, however they do: ``benchmarks/statistics/looks.py``.
LOOKS = (8, 16, 30, 60)
#: More rounds than this are a mistake.
MOST_ROUNDS = 1_000
#: So many rounds of a side with itself tell how rounds scatter.
FLOOR_ROUNDS = 30
#: Confidence at each, the same at all as in Pocock 1977, *Group sequential methods*. One of the
#: four intervals misses in 3 % of comparisons at most, so that of 200 comparisons of a side with
#: itself hardly ever more than 5 % end with a difference.
LOOK_CONFIDENCE = 0.99
_NORMAL = NormalDist()
_STEPS = 60


def decide(
    estimate: RatioEstimate, threshold_pct: float, *, higher_is_better: bool = False
) -> tuple[VerdictKind, Reason]:
    """Return what may be said of B, and why.

    Args:
        estimate: B ÷ A.
        threshold_pct: Differences up to this do not matter: 1 means ratios of 1/1.01 … 1.01.
        higher_is_better: Of a rate; else of a time.
    """
    interval = estimate.interval
    if interval is None:
        return VerdictKind.UNDECIDED, Reason.NO_INTERVAL
    edge = math.log1p(threshold_pct / 100)
    low, middle, high = (math.log(one) for one in (interval.low, estimate.ratio, interval.high))
    if -edge < low and high < edge:
        return VerdictKind.SAME, Reason.WITHIN_THRESHOLD
    if abs(middle) > edge and (low > 0 or high < 0):
        better = (middle > 0) is higher_is_better
        return (VerdictKind.FASTER if better else VerdictKind.SLOWER), Reason.BEYOND_THRESHOLD
    return VerdictKind.UNDECIDED, Reason.INTERVAL_TOO_WIDE


def corrected_ratio(estimate: RatioEstimate, threshold_pct: float) -> float | None:
    """Return the ratio corrected for a comparison that ended since it could call a difference.

    Such a comparison ends sooner with a ratio that lies too far from 1 by chance. The result is the
    median-unbiased estimate among all estimates of this precision that would have ended it too
    (conditional on the decision, with a normal distribution of the logarithm). It does not pass the
    end of the interval that is nearer to 1.

    Args:
        threshold_pct: As given to `decide`.

    Returns:
        ``None`` where `decide` calls no difference.
    """
    kind, _ = decide(estimate, threshold_pct)
    interval = estimate.interval
    if interval is None or kind not in (VerdictKind.FASTER, VerdictKind.SLOWER):
        return None
    sign = 1 if estimate.ratio > 1 else -1
    shift = abs(math.log(estimate.ratio))
    nearest = min(abs(math.log(interval.low)), abs(math.log(interval.high)))
    error = (shift - nearest) / _NORMAL.inv_cdf((1 + interval.confidence) / 2)
    least = max(shift - nearest, math.log1p(threshold_pct / 100))
    if error <= 0:
        return estimate.ratio
    low, high = nearest, shift
    for _ in range(_STEPS):
        middle = (low + high) / 2
        beyond, decided = (_NORMAL.cdf((middle - one) / error) for one in (shift, least))
        low, high = (middle, high) if beyond < decided / 2 else (low, middle)
    return math.exp(sign * high)


def more_needed(
    estimate: RatioEstimate, threshold_pct: float, *, scatter: float = 0.0
) -> int | None:
    """Return how many more units would probably decide it, if the ratio stays where it is.

    The half-width falls with the square root of their number. It has to come down to the ratio's
    distance from 1, or to what is left of the threshold, whichever is the sooner.

    Args:
        scatter: What of the half-width, in logarithms, no number of units takes away; it and the
            rest add in squares.

    Returns:
        At least 1; ``None`` without an interval, or where it would take a hundred times as many.
    """
    interval = estimate.interval
    if interval is None:
        return None
    edge, middle = math.log1p(threshold_pct / 100), math.log(estimate.ratio)
    half = (math.log(interval.high) - math.log(interval.low)) / 2
    wanted = abs(middle) if abs(middle) > edge else edge - abs(middle)
    if wanted <= scatter or half <= scatter:
        return None
    n = max(estimate.n_a, estimate.n_b)
    factor = (half**2 - scatter**2) / (wanted**2 - scatter**2)
    return max(1, math.ceil(n * factor) - n) if factor <= 100 else None
