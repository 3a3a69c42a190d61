"""How many independent samples a series is worth.

Confidence interval of a quantile of a dependent series, from the means of twelve batches.

The series is cut into twelve batches of consecutive samples. In each batch a share of the samples
lies at or below the quantile; the scatter of the twelve shares, with Student's t of 11 degrees of
freedom, bounds the quantile's rank. The interval is read off the sorted samples at these ranks
(Woodruff 1952, *Confidence intervals for medians and other position measures*). A batch longer than
the autocorrelation time keeps its samples' dependence. ``docs/explanation/intervals.md``: the
interval covers as often as moving blocks with Kiefer and Vogelsang's critical values, and is as
wide. Values that come in steps take part as `SteppedDistribution`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from enginescope.core.errors import UsageError
from enginescope.records.samples import Array, Interval
from enginescope.stats.distribution import SampleDistribution, SteppedDistribution
from enginescope.stats.series import as_series
from enginescope.stats.student import student_quantile
from enginescope.stats.timer_step import quantum

#: Longer series are averaged over neighbors first; the result is the same, at bounded cost.
_MAX_POINTS = 32_768
_LEVELS = 256
_NAME = "autocorrelation of the samples"


def integrated_time(values: Any) -> float:
    """Return the integrated autocorrelation time, in samples: 1 when they are independent.

    ``1 + 2 Σ ρ(k)``, summed by Geyer's initial monotone sequence: neighboring autocovariances are
    added in pairs, no pair counts for more than the one before, and the sum ends where a pair is
    not positive (Geyer 1992, *Practical Markov Chain Monte Carlo*, §3.3). Of the estimators tried
    it errs least: ``docs/contributing/statistics-evidence.md`` has the figures.

    Args:
        values: In the order they were taken; at least 4. Truth values count as 0 and 1.

    Returns:
        1…n. Dependence that makes a mean more exact than independent samples would is not credited.
        1 for a constant series.

    Raises:
        UsageError: Fewer than 4 values, or one that is not finite.
    """
    series = as_series(values, name=_NAME, at_least=4)
    variance = float(np.var(series))
    if _is_constant(series, variance):
        return 1.0
    width = -(-series.size // _MAX_POINTS)
    if width > 1:
        # n × the variance of the mean stays what it was when neighbors are averaged
        series = series[: series.size // width * width].reshape(-1, width).mean(axis=1)
    asymptotic = width * _initial_monotone_sum(_autocovariance(series))
    return max(1.0, min(asymptotic / variance, float(series.size * width)))


def effective_samples(values: Any) -> float:
    """Return n divided by `integrated_time`.

    Raises:
        UsageError: Fewer than 4 values, or one that is not finite.
    """
    series = as_series(values, name=_NAME, at_least=4)
    return series.size / integrated_time(series)


def autoregressive_time(values: Any) -> float:
    """Return the autocorrelation time of the first-order process that fits, ``(1 + φ) / (1 - φ)``.

    In a short series `integrated_time` is too small, since the mean follows the wandering it
    should be measured against. The bias of φ is known, ``-(1 + 3φ) / n`` (Marriott and Pope 1954,
    Kendall 1954), and is put back here, so that a series as short as its own autocorrelation time
    is recognized as one.

    Args:
        values: In the order they were taken; at least 4.

    Returns:
        1…n; n where φ comes out at 1 or above.

    Raises:
        UsageError: Fewer than 4 values, or one that is not finite.
    """
    series = as_series(values, name=_NAME, at_least=4)
    if _is_constant(series, float(np.var(series))):
        return 1.0
    n = series.size
    distance = series - series.mean()
    phi = float(distance[1:] @ distance[:-1]) / float(distance @ distance)
    phi += (1 + 3 * phi) / n
    return n if phi >= 1 else max(1.0, min((1 + phi) / (1 - phi), float(n)))


def levels_of(values: Any) -> Array:
    """Return each value's rank among the distinct ones, on at most 256 levels.

    A latency's tail is heavy: one spike may hold most of the variance, and hide that the rest
    wanders. Ranks have no tail, and are the same on any monotone scale.

    Raises:
        UsageError: No values, or one that is not finite.
    """
    series = as_series(values, name=_NAME)
    ordered = np.sort(series)
    places = np.linspace(0, series.size - 1, min(series.size, _LEVELS)).astype(np.int64)
    return np.searchsorted(np.unique(ordered[places]), series).astype(np.float64)


def _is_constant(series: Array, variance: float) -> bool:
    """Whether the variance is no more than rounding."""
    return variance <= (1e-12 * float(np.max(np.abs(series)))) ** 2


def _autocovariance(series: Array) -> Array:
    """Return the biased autocovariances of all lags, by FFT (Wiener-Khinchin)."""
    n = series.size
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(series - series.mean(), size)
    power = spectrum.real**2 + spectrum.imag**2
    covariance: Array = np.fft.irfft(power, size)[:n] / n
    return covariance


def _initial_monotone_sum(covariance: Array) -> float:
    """Return γ(0) + 2 Σ γ(k), up to where Geyer's monotone sequence ends."""
    even = covariance.size // 2 * 2
    pairs = covariance[:even].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: ends[0]] if ends.size else pairs)
    return float(2 * pairs.sum() - covariance[0])


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
            raise UsageError(f"{name} {share}", why="it is outside 0…1")
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
