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
from functools import lru_cache
from typing import Any

import numpy as np

from enginescope.core.errors import UsageError
from enginescope.records.samples import Array, Interval, Mark
from enginescope.stats.series import as_series, once_per_series, quantum

_STEPS = 200


@lru_cache(maxsize=256)
def student_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's t.

    Args:
        share: 0.5…1, the end excluded.
        freedom: Degrees of it, 1 or more.
    """
    # on the scale of the angle, where all of the distribution lies between two ends
    low, high = 0.0, math.pi / 2
    for _ in range(_STEPS):
        angle = (low + high) / 2
        if _share_within(angle, freedom) < 2 * share - 1:
            low = angle
        else:
            high = angle
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _share_within(angle: float, freedom: int) -> float:
    """Return how much of Student's t lies within ± √freedom · tan(angle).

    The finite sums of Abramowitz and Stegun 1964, *Handbook of Mathematical Functions*, 26.7.3 and
    26.7.4.
    """
    sine, cosine = math.sin(angle), math.cos(angle)
    if freedom % 2:
        term, total = cosine, 0.0
        for k in range(1, freedom - 1, 2):
            total += term
            term *= cosine * cosine * (k + 1) / (k + 2)
        return 2 / math.pi * (angle + sine * total)
    term, total = 1.0, 0.0
    for k in range(0, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (k + 1) / (k + 2)
    return sine * total


class SampleDistribution:
    """The distribution of samples as they are."""

    def __init__(self, series: Array) -> None:
        self._series = series
        self._ordered = np.sort(series)

    def share_below(self, q: float) -> Array:
        """Return 1 for each sample at or below quantile `q`, else 0.

        Where no sample lies above the quantile, only samples below it count.
        """
        value = self._ordered[math.ceil(q * self._ordered.size) - 1]
        below = self._series <= value
        return np.asarray(self._series < value if below.all() else below, dtype=np.float64)

    def between(self, low: float, high: float) -> tuple[float, float] | None:
        """Return the samples at two shares of the distribution; ``None`` beyond the extremes."""
        n = self._ordered.size
        first, last = round(low * n - 0.5), round(high * n - 0.5)
        if first < 0 or last > n - 1:
            return None
        return float(self._ordered[first]), float(self._ordered[last])


class SteppedDistribution:
    """The distribution behind values that a clock or a printer rounded to steps.

    A value stands for all times within half a step of it, each as likely: the distribution function
    rises in a straight line over that step.

    Args:
        step: Above 0.
    """

    def __init__(self, series: Array, step: float) -> None:
        self._series = series
        self._step = step
        self._origin = float(series.min())
        levels, counts = np.unique(series - self._origin, return_counts=True)
        edges = np.unique(np.concatenate((levels - step / 2, levels + step / 2)))
        edges = edges[np.diff(edges, prepend=-np.inf) > 1e-9 * step]
        count = np.concatenate(([0.0], np.cumsum(counts)))
        total = np.concatenate(([0.0], np.cumsum(counts * levels)))
        below = np.searchsorted(levels, edges - step / 2, side="right")
        reached = np.searchsorted(levels, edges + step / 2, side="left")
        partly = (
            (count[reached] - count[below]) * (edges + step / 2) - total[reached] + total[below]
        )
        self._levels = levels
        self._level_shares = count[1:] / series.size
        # values of a quantity that is never negative, such as a time, stand for nothing below 0
        self._least = -self._origin if self._origin >= 0 else -math.inf
        self._edges = edges
        self._shares = (count[below] + partly / step) / series.size

    def share_below(self, q: float) -> Array:
        """Return which share of each sample's step lies below quantile `q`."""
        place = float(np.interp(q, self._shares, self._edges)) + self._origin
        return np.clip((place - self._series) / self._step + 0.5, 0.0, 1.0)

    def between(self, low: float, high: float) -> tuple[float, float] | None:
        """Return the values at two shares, moved apart by what the steps hide.

        A straight line over a step is a guess. With all samples on one step the truth may lie
        anywhere on it; the more steps share the samples, the less a line is wrong. Each end moves
        outwards by half a step, times the largest share of the samples on one step between the
        ends, but not beyond the step of the sample at its share. Simulation shows that the interval
        then covers (``docs/explanation/intervals.md``). It holds the sample in its middle, which is
        printed with it.
        """
        if low < 0 or high > 1:
            return None
        first = float(np.interp(low, self._shares, self._edges))
        last = float(np.interp(high, self._shares, self._edges))
        begin = max(int(np.searchsorted(self._edges, first, side="right")) - 1, 0)
        end = int(np.searchsorted(self._edges, last, side="left")) + 1
        rise = np.diff(self._shares[begin:end]) / np.diff(self._edges[begin:end])
        hidden = self._step / 2 * min(1.0, float(rise.max()) * self._step)
        first = max(first - hidden, self._level_at(low) - self._step / 2)
        last = min(last + hidden, self._level_at(high) + self._step / 2)
        middle, rank = (low + high) / 2, 1 / self._series.size
        first = min(first, self._level_at(middle - rank))
        last = max(last, self._level_at(middle + rank))
        first = max(first, self._least)
        return first + self._origin, last + self._origin

    def _level_at(self, share: float) -> float:
        """Return the sample at a share of the distribution, less the origin."""
        index = int(np.searchsorted(self._level_shares, share))
        return float(self._levels[min(index, self._levels.size - 1)])


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
    found = interval_or_mark(values, q, confidence=confidence)
    return found if isinstance(found, Interval) else None


def interval_or_mark(values: Any, q: float, *, confidence: float = 0.95) -> Interval | Mark:
    """Return `quantile_interval`, or why the samples cannot carry one.

    Raises:
        UsageError: As for `quantile_interval`.
    """
    for name, share in (("quantile", q), ("confidence", confidence)):
        if not 0 < share < 1:
            raise UsageError(f"{name} {share}", why="it is outside 0…1")
    return _interval(as_series(values), q, confidence)


@once_per_series
def _interval(series: Array, q: float, confidence: float) -> Interval | Mark:
    n = series.size
    if n < BATCHES:
        return Mark.SAMPLES
    step = quantum(series)
    distribution = SteppedDistribution(series, step) if step else SampleDistribution(series)
    below = distribution.share_below(q)
    time = max(integrated_time(below), autoregressive_time(levels_of(series)))
    if n / time < MIN_EFFECTIVE:
        return Mark.SLOW
    variance = max(_variance_of_mean(below), _LEAST_VARIANCE * q * (1 - q) / n)
    critical = student_quantile((1 + confidence) / 2, BATCHES - 1)
    reach = critical * (1 + _SHORT_BATCHES * time / n) * math.sqrt(variance)
    ends = distribution.between(q - reach, q + reach)
    if ends is None or ends[0] == ends[1]:
        return Mark.EXTREMES if ends is None else Mark.EQUAL
    return Interval(low=ends[0], high=ends[1], confidence=confidence)


def _variance_of_mean(series: Array) -> float:
    """Return the variance of the mean, from the sums of twelve batches of almost equal length."""
    starts = np.arange(BATCHES) * series.size // BATCHES
    sums = np.add.reduceat(series - series.mean(), starts)
    return float(sums @ sums) * BATCHES / (BATCHES - 1) / series.size**2
