"""Confidence interval of a quantile of a dependent series, from the means of twelve batches.

The series is cut into twelve batches of consecutive samples. In each batch a share of the samples
lies at or below the quantile; the scatter of the twelve shares, with Student's t of 11 degrees of
freedom, bounds the quantile's rank. The interval is read off the sorted samples at these ranks
(Woodruff 1952, *Confidence intervals for medians and other position measures*). A batch longer than
the autocorrelation time keeps the dependence of its samples. ``docs/statistics.md`` shows that the
interval covers as often as moving blocks with Kiefer and Vogelsang's critical values, and is as
wide. Values that come in steps take part as `SteppedDistribution`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from enginescope.core.errors import UsageError
from enginescope.records.samples import Array, Interval
from enginescope.stats.autocorrelation import autoregressive_time, integrated_time, levels_of
from enginescope.stats.distribution import SampleDistribution, SteppedDistribution
from enginescope.stats.series import as_series
from enginescope.stats.student import student_quantile
from enginescope.stats.timer_step import quantum

BATCHES = 12
#: With fewer effective samples, the autocorrelation time cannot be told from its own error.
MIN_EFFECTIVE = 10.0
#: Widens the interval by this factor divided by the effective sample size. Of it, 3.0 restores what
#: neighboring batches share: the variance of a batch's mean is too small by half an autocorrelation
#: time per batch length. The other 1.5 covers the error of the autocorrelation time itself.
_SHORT_BATCHES = 4.5
#: Least variance, as a share of that of independent samples: batches may agree by chance.
_LEAST_VARIANCE = 0.25


def quantile_interval(values: Any, q: float, *, confidence: float = 0.95) -> Interval | None:
    """Return the confidence interval of quantile `q` of the distribution behind a series.

    Args:
        values: In the order in which they were measured.
        q: 0…1, both excluded; 0.5 is the median.
        confidence: 0…1, both excluded.

    Returns:
        In the unit of the values; both ends are samples, unless the values come in steps. ``None``
        when the samples cannot carry an interval: the effective sample size is below 10, an end
        would lie beyond the extremes, as for p99 of fewer than some 500 samples, or all samples
        between the ends are equal and show no step. Equal input gives equal output.

    Raises:
        UsageError: No values, one that is not finite, or `q` or `confidence` out of range.
    """
    for name, share in (("quantile", q), ("confidence", confidence)):
        if not 0 < share < 1:
            raise UsageError(f"{name} {share}", why="it lies outside 0…1")
    series = as_series(values)
    n = series.size
    if n < BATCHES:
        return None
    step = quantum(series)
    distribution = SteppedDistribution(series, step) if step else SampleDistribution(series)
    below = distribution.share_below(q)
    time = max(integrated_time(below), autoregressive_time(levels_of(series)))
    if n / time < MIN_EFFECTIVE:
        return None
    variance = max(_variance_of_mean(below), _LEAST_VARIANCE * q * (1 - q) / n)
    critical = student_quantile((1 + confidence) / 2, BATCHES - 1)
    reach = critical * (1 + _SHORT_BATCHES * time / n) * math.sqrt(variance)
    ends = distribution.between(q - reach, q + reach)
    if ends is None or ends[0] == ends[1]:
        return None
    return Interval(low=ends[0], high=ends[1], confidence=confidence)


def _variance_of_mean(series: Array) -> float:
    """Return the variance of the mean, from the sums of twelve batches of almost equal length."""
    starts = np.arange(BATCHES) * series.size // BATCHES
    sums = np.add.reduceat(series - series.mean(), starts)
    return float(sums @ sums) * BATCHES / (BATCHES - 1) / series.size**2
