"""How far a sample lies from the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.records.samples import Array
from enginescope.stats.series import as_series
from enginescope.stats.timer_step import quantum

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

    Raises:
        UsageError: No values, or one that is not finite.
    """
    series = as_series(values)
    distance = series - np.median(series)
    size = np.abs(distance)
    scale = float(np.median(size)) or quantum(series) or 1.2533 * float(np.mean(size))
    scores: Array = distance / scale if scale else np.zeros_like(series)
    return scores
