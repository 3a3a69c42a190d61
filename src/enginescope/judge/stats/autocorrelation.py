"""Estimate how many independent samples a series is worth.

Confidence interval of a quantile of a dependent series, by inverting a test of its rank.

A value belongs to the interval where the share of samples below it lies no farther from the
quantile than that share is uncertain (Woodruff 1952, *Confidence intervals for medians and other
position measures*), with the dependence on the scale of blocks of every length. That is asked for
at every candidate: between two levels, how long the visits to them last decides, which samples on
one of the levels do not show. ``docs/explanation/intervals.md``. Values that come in steps take
part as `SteppedDistribution`.
"""

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from enginescope.judge.errors import UsageError
from enginescope.judge.samples import Array, Interval, Mark
from enginescope.judge.stats.series import as_series, once_per_series, quantum


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
        self._series, self._step = series, step
        self._origin = float(series.min())
        levels, counts = np.unique(series - self._origin, return_counts=True)
        edges = np.unique(np.concatenate((levels - step / 2, levels + step / 2)))
        edges = edges[np.diff(edges, prepend=-np.inf) > 1e-9 * step]
        count = np.concatenate(([0.0], np.cumsum(counts)))
        total = np.concatenate(([0.0], np.cumsum(counts * levels)))
        below = np.searchsorted(levels, edges - step / 2, side="right")
        upper = edges + step / 2
        reached = np.searchsorted(levels, upper, side="left")
        partly = (count[reached] - count[below]) * upper - total[reached] + total[below]
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
        is_below = _share_within(angle, freedom) < 2 * share - 1
        low, high = (angle, high) if is_below else (low, angle)
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _share_within(angle: float, freedom: int) -> float:
    """Return how much of Student's t lies within ± √freedom · tan(angle).

    The finite sums of Abramowitz and Stegun 1964, *Handbook of Mathematical Functions*, 26.7.3 and
    26.7.4.
    """
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = freedom % 2
    term, total = cosine if is_odd else 1.0, 0.0
    for k in range(is_odd, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (k + 1) / (k + 2)
    return 2 / math.pi * (angle + sine * total) if is_odd else sine * total


#: Longer series are averaged over neighbors first; the result is the same, at bounded cost.
_MAX_POINTS = 32_768
_LEVELS = 256
_NAME = "autocorrelation of the samples"
#: Variance of shares below which all are equal.
_ROUNDING = 1e-12


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
    """Return n divided by `integrated_time`."""
    series = as_series(values, name=_NAME, at_least=4)
    return series.size / integrated_time(series)


def autoregressive_time(values: Any, *, errors: float = 0.0) -> float:
    """Return the autocorrelation time of the first-order process that fits, ``(1 + φ) / (1 - φ)``.

    In a short series `integrated_time` is too small, since the mean follows the wandering it
    should be measured against. The bias of φ is known, ``-(1 + 3φ) / n`` (Marriott and Pope 1954,
    Kendall 1954), and is put back here, so that a series as short as its own autocorrelation time
    is recognized as one.

    Args:
        values: In the order they were taken; at least 4.
        errors: Standard errors of φ to add.

    Returns:
        1…n; n where φ comes out at 1 or above.
    """
    series = as_series(values, name=_NAME, at_least=4)
    if _is_constant(series, float(np.var(series))):
        return 1.0
    n, distance = series.size, series - series.mean()
    # not `@`, which wakes the threads of BLAS: they spin beside what is measured next
    phi = float((distance[1:] * distance[:-1]).sum() / np.square(distance).sum())
    phi += (1 + 3 * phi) / n
    phi += errors * math.sqrt(max(1 - phi**2, 0.0) / n)
    return n if phi >= 1 else max(1.0, min((1 + phi) / (1 - phi), float(n)))


def levels_of(values: Any) -> Array:
    """Return each value's rank among the distinct ones, on at most 256 levels.

    A latency's tail is heavy: one spike may hold most of the variance, and hide that the rest
    wanders. Ranks have no tail, and are the same on any monotone scale.
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
#: Blocks of a scale on which dependence is still looked for.
_FEWEST_BLOCKS = 16
#: Widens the interval by this factor divided by the effective sample size: the mean follows a short
#: series, so that its dependence and its spread seem smaller than they are.
_SHORT_SERIES = 8.0
#: Standard errors by which the autocorrelation time of a short series is taken to be longer.
_ERRORS = 2.0
#: Where the share below is looked at, from the quantile (0) to either extreme (1).
_PLACES = (0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.24, 0.32, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)


def quantile_interval(values: Any, q: float, *, confidence: float = 0.95) -> Interval | None:
    """Return the confidence interval of quantile `q` of the distribution behind a series.

    Args:
        values: In the order in which they were measured.
        q: 0…1, both excluded; 0.5 is the median.
        confidence: 0…1, both excluded.

    Returns:
        In the unit of the values; both ends are samples, unless the values come in steps. ``None``
        when the samples cannot carry an interval: they wander as far as they are long, an end would
        lie beyond the extremes, as for p99 of fewer than some 500 samples, or all samples
        between the ends are equal and show no step. Equal input gives equal output.
    """
    found = interval_or_mark(values, q, confidence=confidence)
    return found if isinstance(found, Interval) else None


def interval_or_mark(values: Any, q: float, *, confidence: float = 0.95) -> Interval | Mark:
    """Return `quantile_interval`, or why the samples cannot carry one."""
    for name, share in (("quantile", q), ("confidence", confidence)):
        if not 0 < share < 1:
            raise UsageError(f"{name} {share}", why="it is outside 0…1")
    return _interval(as_series(values), q, confidence)


@once_per_series
def _interval(series: Array, q: float, confidence: float) -> Interval | Mark:
    n = series.size
    if n < BATCHES:
        return Mark.SAMPLES
    levels = levels_of(series)
    if autoregressive_time(levels) >= n:
        return Mark.SLOW
    step = quantum(series)
    distribution = SteppedDistribution(series, step) if step else SampleDistribution(series)
    down, up = q * np.array(_PLACES), (1 - q) * np.array(_PLACES)
    places = np.concatenate((q - down, q + up))
    time = _times(distribution, places, n)
    longest = np.maximum(time, autoregressive_time(levels, errors=_ERRORS))
    errors = np.sqrt(places * (1 - places) * time / n) * (1 + _SHORT_SERIES * longest / n)
    # no nearer than independent samples would let the quantile itself be
    times = NormalDist().inv_cdf((1 + confidence) / 2)
    reach = times * np.maximum(errors, math.sqrt(q * (1 - q) / n))
    below, above = _farthest(down, reach[: down.size]), _farthest(up, reach[down.size :])
    if below is None or above is None:
        return Mark.EXTREMES
    ends = distribution.between(q - below, q + above)
    if ends is None or ends[0] == ends[1]:
        return Mark.EXTREMES if ends is None else Mark.EQUAL
    return Interval(low=ends[0], high=ends[1], confidence=confidence)


def _times(distribution: SampleDistribution | SteppedDistribution, places: Array, n: int) -> Array:
    """Return the autocorrelation time of the share of samples below each place."""
    width = -(-n // _MAX_POINTS)
    rows, variances = [], []
    for place in places:
        below = distribution.share_below(min(max(float(place), 1 / n), 1 - 1 / n))
        variances.append(float(np.var(below)))
        rows.append(below[: n // width * width].reshape(-1, width).mean(axis=1))
    return block_time(np.array(rows), np.array(variances), width)


def block_time(rows: Array, variances: Array, width: int = 1) -> Array:
    """Return the autocorrelation time of each row, from blocks of 1, 2, 4, … points.

    On each scale, a first-order process is fitted to the means of the blocks. Short blocks show
    dependence from sample to sample; long ones show slow visits to another level that noise hides
    from sample to sample. The largest time counts.

    Args:
        rows: Shares of points of `width` samples.
        variances: Of the samples of each row.
        width: Samples in a point.

    Returns:
        In samples: 1 … as many as a row has.
    """
    n = rows.shape[1] * width
    longest = np.ones(len(rows))
    means, length = rows - rows.mean(axis=1, keepdims=True), width
    while means.shape[1] >= _FEWEST_BLOCKS:
        count = means.shape[1]
        square = np.einsum("ij,ij->i", means, means)
        seen = square > _ROUNDING * count
        safe = np.where(seen, square, 1.0)
        phi = np.einsum("ij,ij->i", means[:, 1:], means[:, :-1]) / safe
        phi = np.minimum(phi + (1 + 3 * phi) / count, 1 - 1e-3)
        time = length * safe / count / np.maximum(variances, _ROUNDING) * (1 + phi) / (1 - phi)
        longest = np.where(seen, np.maximum(longest, np.minimum(time, n)), longest)
        means = means[:, : count // 2 * 2].reshape(len(rows), -1, 2).mean(axis=2)
        length *= 2
    return longest


def _farthest(away: Array, reach: Array) -> float | None:
    """Return the farthest place whose share may still be the quantile's; ``None``: the extreme."""
    within = reach - away
    last = int(np.flatnonzero(within >= 0)[-1])
    if last == away.size - 1:
        return None
    share = within[last] / (within[last] - within[last + 1])
    return float(away[last] + share * (away[last + 1] - away[last]))
