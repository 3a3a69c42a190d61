"""Confidence interval of a quantile of a dependent series, by block bootstrap in closed form.

A block bootstrap draws blocks of consecutive samples with replacement, so that a resample keeps
the dependence of the original, and sees how the quantile scatters. How the *rank* of a fixed value
scatters over moving blocks needs no drawing: its variance is that of the sums over all blocks
(Künsch 1989, *The jackknife and the bootstrap for general stationary observations*), here with the
blocks cut by the series' ends, which makes it Bartlett's estimate of the long-run variance. The
interval is the quantile's rank ± so many of these standard errors, read off the sorted samples
(Woodruff 1952), with the factor that Kiefer and Vogelsang (2005, *A new asymptotic theory for
heteroskedasticity-autocorrelation robust tests*) give for blocks that are a fixed share of the
series. In simulation the interval covers as it should from some 15 effective samples up, where
drawing blocks and taking percentiles needs ten times as many, and it costs little more than
sorting: ``docs/statistics.md`` has the tables.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from enginescope.core.errors import UsageError
from enginescope.model.samples import Array, Interval
from enginescope.stats.autocorrelation import autoregressive_time, integrated_time, levels_of
from enginescope.stats.series import as_series

#: A block holds this many autocorrelation times …
_BLOCK_TIMES = 5.0
#: … and never less than this share of the series: slow wandering under fast noise is hardly seen in
#: the autocorrelation, and long blocks cost little: an interval 13 % wider than the shortest.
_SMALLEST_SHARE = 1 / 12
_LARGEST_SHARE = 1 / 2
#: With fewer, an autocorrelation time cannot be told from its own error.
MIN_EFFECTIVE = 10.0
#: The autocorrelation time is itself uncertain; widens the interval by 1.5 / effective n.
_TIME_UNCERTAINTY = 1.5
#: Two-sided critical values for Bartlett's kernel: for each confidence a polynomial in the block's
#: share of the series (Kiefer and Vogelsang 2005, table I).
_CRITICAL = {
    0.8: (1.2816, 1.3040, 0.5135, -0.3386),
    0.9: (1.6449, 2.1859, 0.3142, -0.3427),
    0.95: (1.9600, 2.9694, 0.4160, -0.5324),
    0.98: (2.3263, 4.1618, 0.5368, -0.9060),
}


def quantile_interval(values: Any, q: float, *, confidence: float = 0.95) -> Interval | None:
    """Return the confidence interval of quantile `q` of what the series was drawn from.

    Parameters
    ----------
    values : array_like, shape (n,)
        In the order they were taken.
    q : float
        0…1, both excluded; 0.5 is the median.
    confidence : {0.8, 0.9, 0.95, 0.98}

    Returns
    -------
    Interval or None
        In the unit of the values; its ends are two of them. ``None`` when the samples cannot carry
        one: fewer than 10 of them are effective, or an end would lie beyond the extremes, as it
        does for p99 of fewer than some 500 samples. Equal input gives equal output.

    Raises
    ------
    UsageError
        No values, one that is not finite, or `q` or `confidence` out of range.
    """
    if not 0 < q < 1:
        raise UsageError(f"quantile {q}", why="it lies outside 0…1")
    if confidence not in _CRITICAL:
        known = ", ".join(map(str, _CRITICAL))
        raise UsageError(f"confidence {confidence}", why="not tabulated", hint=f"one of {known}")
    series = as_series(values)
    n = series.size
    if n < MIN_EFFECTIVE:
        return None
    ordered = np.sort(series)
    below = _at_most(series, float(ordered[math.ceil(q * n) - 1]))
    time = max(integrated_time(below), autoregressive_time(levels_of(series)))
    if n / time < MIN_EFFECTIVE:
        return None
    share = min(max(_BLOCK_TIMES * time / n, _SMALLEST_SHARE), _LARGEST_SHARE)
    length = max(1, round(share * n))
    error = math.sqrt(max(_long_run_variance(below, length), _least_variance(below, q)) / n)
    reach = _critical(length / n, confidence) * error * (1 + _TIME_UNCERTAINTY * time / n)
    first, last = round((q - reach) * n - 0.5), round((q + reach) * n - 0.5)
    if first < 0 or last > n - 1:
        return None
    return Interval(low=float(ordered[first]), high=float(ordered[last]), confidence=confidence)


def _at_most(series: Array, value: float) -> Array:
    """Return 1 where the series is at most `value`, else 0; below it, if nothing is above."""
    inside = series <= value
    if inside.all():
        inside = series < value
    return inside.astype(np.float64)


def _long_run_variance(below: Array, length: int) -> float:
    """Return n × the variance of the mean over moving blocks, those cut by the ends included.

    Parameters
    ----------
    below : numpy.ndarray, shape (n,)
    length : int
        Of a block, in samples.
    """
    total = np.cumsum(below - below.mean())
    pad = np.zeros(length)
    sums = np.concatenate((total, pad)) - np.concatenate((pad, total))
    return float(sums @ sums) / (length * below.size)


def _least_variance(below: Array, q: float) -> float:
    """Return what the variance counts for at least.

    All of that of independent samples for a constant series, which shows nothing of its
    dependence; a quarter of it else, since alternation may cancel within a series by chance.
    """
    return q * (1 - q) * (0.25 if below.any() else 1.0)


def _critical(share: float, confidence: float) -> float:
    a0, a1, a2, a3 = _CRITICAL[confidence]
    return a0 + share * (a1 + share * (a2 + share * a3))
