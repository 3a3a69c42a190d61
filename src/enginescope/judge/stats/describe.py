"""Statistics of a series of samples: percentiles as in trtexec, outliers, and the histogram."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enginescope.judge.errors import UsageError
from enginescope.judge.samples import Array, Interval, Mark, Percentile, Samples, Summary
from enginescope.judge.stats.autocorrelation import (
    effective_samples,
    interval_or_mark,
    levels_of,
    quantile_interval,
)
from enginescope.judge.stats.series import as_series, once_per_series, quantum


def nearest_rank(p: float, n: int) -> int:
    """Return the position of percentile `p` among `n` sorted values, counted from 0.

    ``max(n - 1 - exclude, 0)`` with ``exclude = int((1 - p/100) * n)``, in float32 because trtexec
    computes it so (``samples/common/sampleReporting.cpp``, ``findPercentile``). Double precision
    gives another rank now and then: p99 of 100 values is the largest here, the second largest
    there.

    Args:
        p: 0…100.
        n: At least 1.
    """
    if not 0 <= p <= 100:
        raise UsageError(f"percentile {p}", why="it is outside 0…100")
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
    """
    series = as_series(values, at_least=length)
    stretches = series[: series.size // length * length].reshape(-1, length)
    rank = nearest_rank(p, length)
    return float(np.median(np.partition(stretches, rank, axis=1)[:, rank]))


def median(values: Any) -> float:
    """Return the middle value, or the mean of the two middle ones."""
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
    """
    if not 0 < p < 100:
        raise UsageError(f"percentile {p}", why="no number of samples gives it")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence {confidence}", why="it is outside 0…1")
    share = max(p, 100 - p) / 100
    return math.ceil(math.log1p(-confidence) / math.log(share))


PERCENTILES = (90.0, 95.0, 99.0)
_MEDIAN = 50.0


def describe(
    samples: Samples,
    *,
    batch: int | None = None,
    one_in_flight: bool = True,
    percentiles: Sequence[float] = PERCENTILES,
) -> Summary:
    """Return the statistics of `samples`.

    Args:
        samples: At least one; its warm-up is left out.
        batch: Items per request; where it is not known, or 0, requests are counted.
        one_in_flight: Whether a request begins only when the one before has ended. If not, a
            latency says nothing of the throughput, which is then ``None``.
        percentiles: Which to state, each between 0 and 100, both excluded.
    """
    summary = describe_values(samples.values_ms, metric=samples.metric, percentiles=percentiles)
    if not one_in_flight or summary.mean_ms <= 0:
        return summary
    rate = 1e3 * (batch or 1) / summary.mean_ms
    return replace(summary, throughput_per_s=rate)


def describe_values(
    values_ms: Any, *, metric: str = "latency", percentiles: Sequence[float] = PERCENTILES
) -> Summary:
    """Return the statistics of durations; no throughput, since nothing says how they were taken.

    Args:
        values_ms: Milliseconds, in the order they were taken.
    """
    return _described(as_series(values_ms, name=f"samples of {metric}"), metric, tuple(percentiles))


@once_per_series
def _described(series: Array, metric: str, percentiles: tuple[float, ...]) -> Summary:
    ordered = np.sort(series)
    judged = sorted({_MEDIAN, *PERCENTILES, *percentiles})
    support = {p: _effective(series <= ordered[nearest_rank(p, series.size)]) for p in judged}
    mean = float(np.mean(series))
    std = float(np.std(series, ddof=1)) if series.size > 1 else None
    return Summary(
        metric=metric,
        n=series.size,
        effective_n=_effective(levels_of(series)),
        min_ms=float(ordered[0]),
        max_ms=float(ordered[-1]),
        mean_ms=mean,
        median_ms=float(np.median(ordered)),
        std_ms=std,
        cv_pct=100 * std / mean if mean and std is not None else None,
        median_interval=quantile_interval(series, 0.5),
        percentiles=tuple(_percentile(series, ordered, p, support) for p in percentiles),
    )


def _percentile(series: Array, ordered: Array, p: float, support: dict[float, float]) -> Percentile:
    needed, found = needed_samples(p), interval_or_mark(series, p / 100)
    lower = (each for each in (_MEDIAN, *PERCENTILES) if each < p)
    weak = next((each for each in lower if support[each] < needed_samples(each)), None)
    mark = found if isinstance(found, Mark) else None
    return Percentile(
        p=p,
        value_ms=float(ordered[nearest_rank(p, series.size)]),
        effective_n=support[p],
        needed_n=needed,
        interval=found if isinstance(found, Interval) else None,
        mark=Mark.SAMPLES if support[p] < needed else mark if weak is None else Mark.LOWER,
        n=series.size,
        weak_below=weak,
    )


def _effective(levels: Array) -> float:
    return effective_samples(levels) if levels.size >= 4 else float(levels.size)


#: A sample scoring above this is an outlier: ten standard deviations of a normal series, since one
#: of those is 1.4826 median absolute deviations.
LIMIT = 14.8


def outlier_scores(values: Any) -> Array:
    """Return ``(x - median) / MAD`` of every sample: positive where it is slow.

    Where more than half of the samples are equal the median absolute deviation is 0, and the
    values' `quantum` takes its place, or, where there is none, the mean absolute deviation
    (Iglewicz and Hoaglin 1993, *How to Detect and Handle Outliers*, §3).

    Returns:
        0 throughout for a constant series.
    """
    series = as_series(values)
    distance = series - np.median(series)
    size = np.abs(distance)
    scale = float(np.median(size)) or quantum(series) or 1.2533 * float(np.mean(size))
    scores: Array = distance / scale if scale else np.zeros_like(series)
    return scores


MIN_BINS = 8
MAX_BINS = 80
#: At most this share of the samples is folded away on either side.
_FOLDED = 0.025
#: Bins of more steps hold about as many as their neighbors, whichever steps are taken.
_MOST_STEPS = 16
#: Bins may get so many times as wide, where that makes the picture so many times less rough.
_COARSER = 4
_FAR_LESS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Counts of samples in bins of equal width.

    Attributes:
        edges_ms: Rising. A bin holds its lower edge; the last holds both.
        n_below, n_above: Samples beyond the first and the last edge, so that one spike does not
            flatten the rest. The counts and these make all samples.
    """

    edges_ms: tuple[float, ...]
    counts: tuple[int, ...]
    n_below: int
    n_above: int


def shown_range(series: Array) -> tuple[float, float]:
    """Return the least and the greatest value to be shown: what is far out is left out.

    All with a score within ±14.8 are shown, and at least the middle 95 %.
    """
    first, last = np.quantile(series, [_FOLDED, 1 - _FOLDED])
    near = np.abs(outlier_scores(series)) <= LIMIT
    inside = series[near | ((series >= first) & (series <= last))]
    return float(inside.min()), float(inside.max())


def histogram(values_ms: Any, *, bins: int | None = None) -> Histogram:
    """Return the histogram of durations, far outliers folded away.

    Shown are all samples with a score (see `outliers`) within ±14.8, and at least the middle 95 %
    of them. Bins are 2 × the interquartile range ÷ ∛n wide (Freedman and Diaconis 1981), but there
    are 8 to 80 of them. A bin spans whole steps of values that come in steps (see `quantum`), and
    has them in its middle; where every so many steps are taken more often than those between, as
    with the sum of two clocks, it spans as many, so that bins of one width make no comb. Of such
    values there may be fewer bins.

    Args:
        values_ms: Milliseconds.
        bins: How many at most, such as the columns of a sparkline; ``None``: by the rule above.
    """
    if bins is not None and bins < 1:
        raise UsageError(f"{bins} bins", why="a histogram needs at least one")
    series = as_series(values_ms)
    low, high = shown_range(series)
    width = (high - low) / bins if bins else _width(series, high - low)
    shown = series[(series >= low) & (series <= high)]
    edges = _edges(shown, bins or MAX_BINS, width, quantum(series))
    counts, _ = np.histogram(series, bins=edges)
    return Histogram(
        edges_ms=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        n_below=int(np.count_nonzero(series < edges[0])),
        n_above=int(np.count_nonzero(series > edges[-1])),
    )


def _width(series: Array, span: float) -> float:
    """Return Freedman and Diaconis' width within its limits; 0 where all values are equal."""
    lower, upper = np.quantile(series, [0.25, 0.75])
    width = 2 * (float(upper) - float(lower)) / float(np.cbrt(series.size))
    return min(max(width, span / MAX_BINS), span / MIN_BINS)


def _edges(shown: Array, most: int, width: float, step: float | None) -> Array:
    """Return edges that hold what is shown, in at most so many bins of about `width`."""
    low, high = float(shown.min()), float(shown.max())
    if width <= abs(low) * 1e-9:
        margin = abs(low) / 200 or 0.5
        return np.array([low - margin, low + margin])
    if step is None:
        return np.linspace(low, high, max(1, round((high - low) / width)) + 1)
    levels = round((high - low) / step) + 1
    steps = max(round(width / step), math.ceil(levels / most), 1)
    if steps <= _MOST_STEPS:
        steps = _without_comb(np.bincount(np.rint((shown - low) / step).astype(int)), steps)
    count = math.ceil(levels / steps)
    return low + step * (np.arange(count + 1) * steps - 0.5)


def _without_comb(levels: Array, least: int) -> int:
    """Return how many levels a bin spans: `least`, or more where that is far less rough."""
    widths = range(least, min(_COARSER * least, levels.size // MIN_BINS) + 1)
    if not widths:
        return least
    rough = [_roughness(levels, width) for width in widths]
    return widths[int(np.argmin(rough))] if min(rough) < rough[0] / _FAR_LESS else least


def _roughness(levels: Array, width: int) -> float:
    """Return how far bins of so many levels jump up and down, as a share of the samples."""
    counts = np.add.reduceat(levels, np.arange(0, levels.size, width))
    return float(np.abs(np.diff(counts, 2)).sum() / counts.sum())
