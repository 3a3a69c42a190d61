"""Percentiles as trtexec has them, and how many samples each needs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from enginescope.core.errors import UsageError
from enginescope.stats.series import as_series


def nearest_rank(p: float, n: int) -> int:
    """Return the position of percentile `p` among `n` sorted values, counted from 0.

    ``max(n - 1 - exclude, 0)`` with ``exclude = int((1 - p/100) * n)``, in float32 because trtexec
    computes it so (``samples/common/sampleReporting.cpp``, ``findPercentile``). Double precision
    gives another rank now and then: p99 of 100 values is the largest here, the second largest
    there.

    Parameters
    ----------
    p : float
        0…100.
    n : int
        At least 1.

    Raises
    ------
    UsageError
        `p` is outside 0…100, or there are no values.
    """
    if not 0 <= p <= 100:
        raise UsageError(f"percentile {p}", why="it lies outside 0…100")
    if n < 1:
        raise UsageError(f"percentile {p}", why="there are no samples")
    share = np.float32(1) - np.float32(p) / np.float32(100)
    exclude = int(share * np.float32(n))
    return max(n - 1 - exclude, 0)


def percentile(values: Any, p: float) -> float:
    """Return percentile `p` of `values` by `nearest_rank`, without interpolation.

    Parameters
    ----------
    values : array_like, shape (n,)
        In any order; the result has their unit.
    p : float
        0…100.

    Raises
    ------
    UsageError
        No values, one that is not finite, or `p` outside 0…100.
    """
    series = as_series(values)
    rank = nearest_rank(p, series.size)
    return float(np.partition(series, rank)[rank])


def median(values: Any) -> float:
    """Return the middle value, or the mean of the two middle ones.

    Raises
    ------
    UsageError
        No values, or one that is not finite.
    """
    return float(np.median(as_series(values)))


def needed_samples(p: float, confidence: float = 0.99) -> int:
    """Return how many independent samples percentile `p` needs.

    The smallest n for which the largest of n values lies above the true percentile with
    probability `confidence`: ``ceil(ln(1 - confidence) / ln(p / 100))``, LoadGen's rule for when a
    tail may be reported (44 for p90, 90 for p95, 459 for p99). Below the median the same holds for
    the smallest value.

    Parameters
    ----------
    p : float
        Between 0 and 100, both excluded.
    confidence : float
        Between 0 and 1, both excluded.

    Raises
    ------
    UsageError
        `p` or `confidence` is out of range.
    """
    if not 0 < p < 100:
        raise UsageError(f"percentile {p}", why="no number of samples gives it")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence {confidence}", why="it lies outside 0…1")
    share = max(p, 100 - p) / 100
    return math.ceil(math.log1p(-confidence) / math.log(share))
