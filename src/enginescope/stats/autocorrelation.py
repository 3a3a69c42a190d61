"""How many independent samples a series is worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.records.samples import Array
from enginescope.stats.series import as_series

#: Longer series are averaged over neighbours first; the result is the same, at bounded cost.
_MAX_POINTS = 32_768
_LEVELS = 256
_NAME = "autocorrelation of the samples"


def integrated_time(values: Any) -> float:
    """Return the integrated autocorrelation time, in samples: 1 when they are independent.

    ``1 + 2 Σ ρ(k)``, summed by Geyer's initial monotone sequence: neighbouring autocovariances are
    added in pairs, no pair counts for more than the one before, and the sum ends where a pair is
    not positive (Geyer 1992, *Practical Markov Chain Monte Carlo*, §3.3). Of the estimators tried
    it errs least: ``docs/statistics.md`` has the figures.

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
        # n × the variance of the mean stays what it was when neighbours are averaged
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
    is recognised as one.

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
