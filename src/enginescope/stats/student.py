"""Quantiles of Student's t, without SciPy."""

from __future__ import annotations

import math
from functools import lru_cache

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
