"""Whether a start-up is over."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.model.samples import Array
from enginescope.stats.series import as_series

MIN_VALUES = 10
TOLERANCE = 0.01


def is_steady(times: Any) -> bool:
    """Return whether the times have stopped changing.

    Of the later half of `times` (at least 10), the medians of the first and the second half are
    compared: they may differ by 1 %, or by twice the standard error of their difference.

    Parameters
    ----------
    times : array_like, shape (n,)
        Durations in the order they were taken, in any unit.

    Returns
    -------
    bool
        ``False`` with fewer than 10 values: so few show nothing.

    Raises
    ------
    UsageError
        A value is not finite, or there are none.
    """
    series = as_series(times, name="warm-up times")
    if series.size < MIN_VALUES:
        return False
    recent = series[-max(MIN_VALUES, series.size // 2) :]
    half = recent.size // 2
    first, second = recent[:half], recent[-half:]
    before, after = float(np.median(first)), float(np.median(second))
    noise = 2 * np.hypot(_median_error(first), _median_error(second))
    return bool(abs(before - after) <= max(TOLERANCE * abs(after), noise))


def _median_error(values: Array) -> float:
    """Return the standard error of a median of independent, roughly normal values."""
    deviation = 1.4826 * float(np.median(np.abs(values - np.median(values))))
    return 1.2533 * deviation / float(np.sqrt(values.size))
