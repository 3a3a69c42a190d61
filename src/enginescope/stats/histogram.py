"""Bins in which a distribution can be seen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.records.samples import Array
from enginescope.stats.describe import LIMIT, outlier_scores
from enginescope.stats.series import as_series
from enginescope.stats.timer_step import quantum

MIN_BINS = 8
MAX_BINS = 80
#: At most this share of the samples is folded away on either side.
_FOLDED = 0.025
#: Bins of more steps hold about as many as their neighbors, whichever steps are taken.
_MOST_STEPS = 16
#: Bins may get so many times as wide, where that makes the picture so many times less rough.
_COARSER = 4
_FAR_LESS = 3.0


class Histogram(Record, frozen=True, kw_only=True):
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

    Raises:
        UsageError: No values, one that is not finite, or no bins.
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
