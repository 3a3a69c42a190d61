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

    Args:
        p: 0…100.
        n: At least 1.

    Raises:
        UsageError: `p` is outside 0…100, or there are no values.
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

    Args:
        values: In any order; the result has their unit.
        p: 0…100.

    Raises:
        UsageError: No values, one that is not finite, or `p` outside 0…100.
    """
    series = as_series(values)
    rank = nearest_rank(p, series.size)
    return float(np.partition(series, rank)[rank])


def percentile_of_stretches(values: Any, p: float, length: int) -> float:
    """Return the median of percentile `p` over consecutive stretches of `length` samples.

    The percentile of few samples has a bias that depends on their number, and more so if they
    depend on each other. Over stretches of one length, all processes have the same bias, and their
    ratio has none.

    Args:
        values: In the order they were taken; n is at least `length`.
        p: 0…100.
        length: Samples of a stretch; what is left over at the end does not count.

    Raises:
        UsageError: Fewer values, one that is not finite, or `p` outside 0…100.
    """
    series = as_series(values, at_least=length)
    stretches = series[: series.size // length * length].reshape(-1, length)
    rank = nearest_rank(p, length)
    return float(np.median(np.partition(stretches, rank, axis=1)[:, rank]))


def median(values: Any) -> float:
    """Return the middle value, or the mean of the two middle ones.

    Raises:
        UsageError: No values, or one that is not finite.
    """
    return float(np.median(as_series(values)))


def needed_samples(p: float, confidence: float = 0.99) -> int:
    """Return how many independent samples percentile `p` needs.

    The smallest n for which the largest of n values lies above the true percentile with
    probability `confidence`: ``ceil(ln(1 - confidence) / ln(p / 100))``, LoadGen's rule for when a
    tail may be reported (44 for p90, 90 for p95, 459 for p99). Below the median the same holds for
    the smallest value.

    Args:
        p: Between 0 and 100, both excluded.
        confidence: Between 0 and 1, both excluded.

    Raises:
        UsageError: `p` or `confidence` is out of range.
    """
    if not 0 < p < 100:
        raise UsageError(f"percentile {p}", why="no number of samples gives it")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence {confidence}", why="it lies outside 0…1")
    share = max(p, 100 - p) / 100
    return math.ceil(math.log1p(-confidence) / math.log(share))
