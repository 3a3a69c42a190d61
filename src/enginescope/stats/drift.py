"""Whether a series ends elsewhere than it began."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.core.record import Record
from enginescope.records.samples import Array
from enginescope.stats.autocorrelation import quantile_interval
from enginescope.stats.series import as_series

MIN_VALUES = 30
#: A change below this share of the first level is not worth a word.
MIN_CHANGE = 0.01


class Drift(Record, frozen=True, kw_only=True):
    """A change of level over a series.

    Attributes:
        first, last: Medians of the first and the last third, in the unit of the samples.
        change_pct: From first to last.
        noise_pct: What the change of a series without drift stays below 95 times of 100.
    """

    first: float
    last: float
    change_pct: float
    noise_pct: float


def drift(values: Any) -> Drift | None:
    """Return how far the last third lies from the first, or ``None`` where that may be noise.

    The noise is taken from what is left when the line through the medians of the thirds is
    removed: its median's interval, by `quantile_interval`, is that of a whole series; a third's is
    √3 times wider, the difference of two √6 times.

    Args:
        values: In the order they were taken; fewer than 30 show no drift.

    Returns:
        ``None`` for a change below 1 % too, and where the level is not positive.

    Raises:
        UsageError: No values, or one that is not finite.
    """
    series = as_series(values)
    if series.size < MIN_VALUES:
        return None
    levels = [float(np.median(part)) for part in np.array_split(series, 3)]
    first, last = levels[0], levels[-1]
    if first <= 0 or abs(last - first) < MIN_CHANGE * first:
        return None
    interval = quantile_interval(series - _line(series.size, levels), 0.5)
    if interval is None:
        return None
    noise = 6**0.5 * (interval.high - interval.low) / 2
    if abs(last - first) <= noise:
        return None
    return Drift(
        first=first,
        last=last,
        change_pct=100 * (last - first) / first,
        noise_pct=100 * noise / first,
    )


def _line(n: int, levels: list[float]) -> Array:
    """Return the line through the centres of three thirds, straight on beyond the outer two."""
    slopes = np.diff(levels)
    place = np.arange(n) / n * 3 - 0.5
    knots = np.array([-0.5, 0.0, 1.0, 2.0, 2.5])
    heights = [levels[0] - slopes[0] / 2, *levels, levels[2] + slopes[1] / 2]
    line: Array = np.interp(place, knots, heights)
    return line
