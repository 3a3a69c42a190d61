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
from functools import lru_cache
from typing import Any

import numpy as np

from enginescope.model.samples import Interval
from enginescope.stats.hodges_lehmann import Shift, paired_shift
from enginescope.stats.series import as_series

_STEPS = 200


def student_shift(a: Any, b: Any, *, confidence: float) -> Shift:
    """Return the difference of the medians b − a with Student's interval around it.

    Parameters
    ----------
    a, b : array_like
        A value a process, such as the logarithm of its median.
    confidence : float
        0…1, both excluded.

    Returns
    -------
    Shift
        Without ends where both sides together have fewer than three values.

    Raises
    ------
    UsageError
        No values, or one that is not finite.
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


def level_of_processes(medians: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """Return the interval of the level that processes of the same work scatter about.

    By signed ranks from six processes up, as a comparison's; of fewer by Student's t of the
    logarithms.

    Parameters
    ----------
    medians : sequence of float
        One a process, above 0.

    Returns
    -------
    Interval or None
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


@lru_cache(maxsize=256)
def student_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's t.

    Parameters
    ----------
    share : float
        0.5…1, the end excluded.
    freedom : int
        Degrees of it, 1 or more.
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
