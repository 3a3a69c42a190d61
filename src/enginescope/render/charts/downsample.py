"""Long series made short enough to draw, without losing a spike."""

from __future__ import annotations

import numpy as np

from enginescope.core.record import Record
from enginescope.records.samples import Array

#: More points than this are not drawn one by one.
MAX_POINTS = 5_000
BUCKETS = 600


class Bucket(Record, frozen=True, kw_only=True):
    """A stretch of a series: where it begins, and the extremes within it."""

    x: float
    low: float
    high: float


def extremes(x: Array, values: Array, buckets: int = BUCKETS) -> tuple[Bucket, ...]:
    """Return the least and greatest value of each of `buckets` stretches of equal count.

    Args:
        x, values: Any unit; n of at least 1.
    """
    starts = np.unique(np.linspace(0, values.size, min(buckets, values.size) + 1).astype(int)[:-1])
    lows = np.minimum.reduceat(values, starts)
    highs = np.maximum.reduceat(values, starts)
    return tuple(
        Bucket(x=float(at), low=float(low), high=float(high))
        for at, low, high in zip(x[starts], lows, highs, strict=True)
    )
