"""The headline's percentiles from 0 to 100."""

from __future__ import annotations

import math

import numpy as np

from enginescope.core.record import Record
from enginescope.records.samples import Samples, Summary
from enginescope.stats.percentile import nearest_rank, needed_samples

_MEDIAN = 50
#: Every whole percentile, and two more in the tail.
POINTS = (*(float(p) for p in range(100)), 99.5, 99.9, 100.0)


class CurvePoint(Record, frozen=True, kw_only=True):
    """One point of a percentile curve.

    Attributes:
        p: 0…100.
        value_ms: By nearest rank, as trtexec has it.
        effective_n: From the median on, that of the next stated percentile; below, that of the
            whole series.
        needed_n: Independent samples needed to state it at 99 % confidence; ``None`` at 0 and 100,
            which no number of samples settles.
        weak_below: Lowest stated percentile below this one that lacks samples; then this one does
            too.
    """

    p: float
    value_ms: float
    effective_n: float
    needed_n: int | None
    weak_below: float | None = None

    @property
    def is_supported(self) -> bool:
        """Whether there are enough effective samples to state it and every lower percentile."""
        if self.needed_n is None or self.weak_below is not None:
            return False
        return self.effective_n >= self.needed_n


def percentile_curve(samples: Samples, summary: Summary) -> tuple[CurvePoint, ...]:
    """Return the curve of `samples`; the percentiles of `summary` say what the samples carry."""
    ordered = np.sort(samples.values_ms)
    stated = sorted(summary.percentiles, key=lambda percentile: percentile.p)
    weak = next((each.weak_below or each.p for each in stated if not each.is_supported), math.inf)
    points = []
    for p in POINTS:
        above = next((each for each in stated if each.p >= p), stated[-1] if stated else None)
        is_upper = above is not None and p >= _MEDIAN
        points.append(
            CurvePoint(
                p=p,
                value_ms=float(ordered[nearest_rank(p, ordered.size)]),
                effective_n=above.effective_n if above and is_upper else summary.effective_n,
                needed_n=needed_samples(p) if 0 < p < 100 else None,
                weak_below=weak if weak < p else None,
            )
        )
    return tuple(points)
