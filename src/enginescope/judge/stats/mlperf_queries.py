"""Early stopping of MLPerf Inference: exact binomial tests of a share of slow queries.

How many of the highest latencies may be discarded so that the highest of the rest is, with 99 %
confidence, no lower than the percentile.
"""

import math

import numpy as np

from enginescope.judge.samples import Array

#: Of LoadGen.
CONFIDENCE = 0.99


def binomial_cumulative(n: int, share: float, most: int) -> Array:
    """Return P(X ≤ k) for k = 0 … `most`, where X counts successes in `n` independent trials.

    Args:
        share: Of success, between 0 and 1, both excluded.
        most: 0…`n`.
    """
    logs = np.log(np.arange(1, n + 1, dtype=np.float64))
    chosen = np.arange(most + 1)
    ways = np.concatenate(([0.0], np.cumsum(logs[::-1][:most] - logs[:most])))
    terms = ways + chosen * math.log(share) + (n - chosen) * math.log1p(-share)
    cumulative: Array = np.minimum(np.cumsum(np.exp(terms)), 1.0)
    return cumulative


def discarded_queries(n: int, percentile: float) -> int | None:
    """Return the place from the top, 1 for the highest, of the estimate of a percentile.

    The largest t with P(X ≤ t) below 1 %, where X counts those of `n` queries that are slower than
    the percentile (MLPerf Inference policies, appendix on early stopping).

    Args:
        percentile: 0…100, both excluded.

    Returns:
        ``None``: there are too few queries; `needed_queries` says how many there must be.
    """
    most = min(n, int(n * (1 - percentile / 100)) + 1)
    below = binomial_cumulative(n, 1 - percentile / 100, most) < 1 - CONFIDENCE
    place = int(np.count_nonzero(below)) - 1
    return place if place >= 1 else None


def needed_queries(slow: int, percentile: float) -> int:
    """Return how many queries there must be so that `slow` of them do not break a percentile."""
    share = 1 - percentile / 100

    def is_enough(n: int) -> bool:
        return bool(binomial_cumulative(n, share, slow)[-1] < 1 - CONFIDENCE)

    low, high = slow, max(2 * slow, 16)
    while not is_enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def decisive_queries(percentile: float, error: float) -> int:
    """Return how many queries, none of them slow, show that a percentile holds.

    Args:
        percentile: 0…100, both excluded.
        error: Probability of the wrong answer.
    """
    return math.ceil(math.log(error) / math.log(percentile / 100))


def share_is_below(slow: float, n: float, allowed: float, error: float) -> bool | None:
    """Return whether the true share of slow queries is below `allowed`; ``None``: inconclusive.

    Args:
        slow, n: Of effective samples, which need not be whole numbers.
        allowed: Share, between 0 and 1, both excluded.
        error: Probability of either wrong answer.
    """
    trials = math.floor(n)
    most, least = min(math.ceil(slow), trials), min(math.floor(slow), trials)
    if trials < 1:
        return None
    cumulative = binomial_cumulative(trials, allowed, most)
    if float(cumulative[most]) <= error:
        return True
    fewer = float(cumulative[least - 1]) if least else 0.0
    return False if 1 - fewer <= error else None
