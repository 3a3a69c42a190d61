"""What few processes say of their level, and of the shift between two sides, by Student's t.

The rank statistics of `hodges_lehmann` assume nothing of how processes scatter, and so have no
interval of 95 % below four processes a side, or six of one. Of fewer, the logarithms of their
medians are taken for normally distributed, with one scatter on both sides. Where processes lie on
one of two levels that is wrong, and does harm where there are very few: two and two lie each on a
level of their own in one of eight cases, and then seem not to scatter at all.
``benchmarks/statistics/few_processes.py`` says how often it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.records.samples import Interval
from enginescope.stats.comparison.hodges_lehmann import Shift, paired_shift
from enginescope.stats.series import as_series
from enginescope.stats.student import student_quantile


def student_shift(a: Any, b: Any, *, confidence: float) -> Shift:
    """Return the difference of the medians b − a with Student's interval around it.

    Args:
        a, b: A value a process, such as the logarithm of its median.
        confidence: 0…1, both excluded.

    Returns:
        Without ends where both sides together have fewer than three values.

    Raises:
        UsageError: No values, or one that is not finite.
    """
    first, second = as_series(a, name="values of A"), as_series(b, name="values of B")
    middle = float(np.median(second) - np.median(first))
    freedom = first.size + second.size - 2
    if freedom < 1:
        return Shift(middle, None, None)
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in (first, second))
    error = math.sqrt(squares / freedom * (1 / first.size + 1 / second.size))
    centre = float(second.mean() - first.mean())
    reach = student_quantile((1 + confidence) / 2, freedom) * error
    return Shift(middle, min(centre - reach, middle), max(centre + reach, middle))


def student_paired_shift(differences: Any, *, confidence: float) -> Shift:
    """Return the median of the differences with Student's interval around their mean.

    Args:
        differences: At least two, one a round, B − A.
        confidence: 0…1, both excluded.

    Raises:
        UsageError: Fewer than two values, or one that is not finite.
    """
    series = as_series(differences, name="differences", at_least=2)
    middle, mean = float(np.median(series)), float(series.mean())
    error = float(series.std(ddof=1)) / math.sqrt(series.size)
    reach = student_quantile((1 + confidence) / 2, series.size - 1) * error
    return Shift(middle, min(mean - reach, middle), max(mean + reach, middle))


def level_of_processes(medians: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """Return the interval of the level that processes of the same work scatter about.

    By signed ranks from six processes up, as a comparison's; of fewer by Student's t of the
    logarithms.

    Args:
        medians: One a process, above 0.

    Returns:
        ``None`` of fewer than two, or where one is not above 0.
    """
    series = as_series(medians, name="medians")
    if series.size < 2 or (series <= 0).any():
        return None
    logs = np.log(series)
    found = paired_shift(logs, confidence=confidence)
    low, high = found.low, found.high
    if low is None or high is None:
        error = float(logs.std(ddof=1)) / math.sqrt(series.size)
        reach = student_quantile((1 + confidence) / 2, series.size - 1) * error
        low, high = float(logs.mean()) - reach, float(logs.mean()) + reach
    middle = float(np.median(logs))  # what is shown lies within
    low, high = min(low, middle), max(high, middle)
    return Interval(low=math.exp(low), high=math.exp(high), confidence=confidence)
