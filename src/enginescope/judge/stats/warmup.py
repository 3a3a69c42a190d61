"""Whether a start-up is over."""

import math
from typing import Any

import numpy as np

from enginescope.judge.samples import Array
from enginescope.judge.stats.autocorrelation import autoregressive_time, levels_of
from enginescope.judge.stats.series import as_series

MIN_VALUES = 10
#: A change below this share is steady whatever the noise.
TOLERANCE = 0.01
#: A change within so many standard errors of itself is noise.
_ERRORS = 2.0


def is_steady(times: Any) -> bool:
    """Return whether the times have stopped changing.

    Of the later half of `times` (at least 10), the medians of the first and the second half are
    compared: they may differ by 1 %, or by twice the standard error of their difference. That
    error is taken around the slope of each half, since a start-up that still falls would pass for
    noise, and grows with the root of the autocorrelation time.

    Args:
        times: Durations in the order they were taken, in any unit.

    Returns:
        ``False`` with fewer than 10 values: so few show nothing.
    """
    series = as_series(times, name="warm-up times")
    if series.size < MIN_VALUES:
        return False
    recent = series[-max(MIN_VALUES, series.size // 2) :]
    half = recent.size // 2
    first, second = recent[:half], recent[-half:]
    before, after = float(np.median(first)), float(np.median(second))
    noise = _ERRORS * math.hypot(_median_error(first), _median_error(second))
    return abs(before - after) <= max(TOLERANCE * abs(after), noise)


def _median_error(values: Array) -> float:
    """Return the standard error of the median of roughly normal values around a slope.

    1.2533 (√(π/2)) standard deviations over √n, the deviation being 1.4826 median absolute ones.
    """
    middle = values.size // 2
    rise = float(np.median(values[-middle:]) - np.median(values[:middle]))
    place = (np.arange(values.size) - (values.size - 1) / 2) / (values.size - middle)
    rest = values - rise * place
    deviation = 1.4826 * float(np.median(np.abs(rest - np.median(rest))))
    return 1.2533 * deviation * math.sqrt(autoregressive_time(levels_of(rest)) / values.size)
