"""How many independent samples a series is worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.model.samples import Array
from enginescope.stats.series import as_series

#: Longer series are averaged over neighbours first; the result is the same, at bounded cost.
_MAX_POINTS = 32_768


def integrated_time(values: Any) -> float:
    """Return the integrated autocorrelation time, in samples: 1 when they are independent.

    ``1 + 2 Σ ρ(k)``, by Geyer's initial monotone sequence: neighbouring autocovariances are added
    in pairs, and the sum ends where a pair is no longer positive (Geyer 1992, *Practical Markov
    Chain Monte Carlo*, §3.3).

    Parameters
    ----------
    values : array_like, shape (n,)
        In the order they were taken; at least 4.

    Returns
    -------
    float
        At least 1: dependence that makes the mean more exact than independent samples would is
        not credited. 1 for a constant series.

    Raises
    ------
    UsageError
        Fewer than 4 values, or one that is not finite.
    """
    series = as_series(values, name="autocorrelation of the samples", at_least=4)
    variance = float(np.var(series))
    if variance <= (1e-12 * float(np.max(np.abs(series)))) ** 2:
        return 1.0
    width = -(-series.size // _MAX_POINTS)
    if width > 1:
        series = series[: series.size // width * width].reshape(-1, width).mean(axis=1)
    covariance = _autocovariance(series)
    asymptotic = width * _initial_monotone_sum(covariance)
    return max(1.0, min(asymptotic / variance, float(series.size * width)))


def effective_samples(values: Any) -> float:
    """Return n divided by `integrated_time`.

    Raises
    ------
    UsageError
        Fewer than 4 values, or one that is not finite.
    """
    series = as_series(values, name="autocorrelation of the samples", at_least=4)
    return series.size / integrated_time(series)


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


def effective_samples_of_ranks(values: Any) -> float:
    """Return the effective number of samples of a series' ranks.

    A latency's tail is heavy: a single spike may hold most of the variance and hide that the rest
    drifts. Ranks (the mean one where values are equal) have no tail and are the same for any
    monotone change of scale.

    Raises
    ------
    UsageError
        Fewer than 4 values, or one that is not finite.
    """
    series = as_series(values, name="autocorrelation of the samples", at_least=4)
    _, place, counts = np.unique(series, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    return effective_samples(middle[place.reshape(-1)])
