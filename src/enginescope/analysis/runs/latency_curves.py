"""How many layers take how much of the time.

The headline's percentiles from 0 to 100.
How many layers take how much of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.core.record import Record
from enginescope.records.samples import Samples, Summary
from enginescope.stats.describe import nearest_rank, needed_samples

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


_MOST_POINTS = 200


class CumulativePoint(Record, frozen=True, kw_only=True):
    """The first `layers` layers of an order, and their time together."""

    layers: int
    time_ms: float
    share_pct: float


class CumulativeTime(Record, frozen=True, kw_only=True):
    """Time added up, layer after layer.

    Attributes:
        in_order, slowest_first: Of the plan's order and by falling time; from 0 layers on, at most
            some 200 points each.
        timed: Layers with a time.
        most_layers: Fewest layers that take 80 % of the time of those.
    """

    in_order: tuple[CumulativePoint, ...]
    slowest_first: tuple[CumulativePoint, ...]
    timed: int
    most_layers: int


def cumulative_time(rows: Sequence[LayerFacts]) -> CumulativeTime | None:
    """Return how the layers' times add up; ``None`` if they add up to nothing."""
    times = [row.time_ms for row in rows if row.time_ms is not None]
    falling = sorted(times, reverse=True)
    sums = list(accumulate(falling))
    if not sums or sums[-1] <= 0:
        return None
    enough = 0.8 * sums[-1]
    return CumulativeTime(
        in_order=_points(list(accumulate(times))),
        slowest_first=_points(sums),
        timed=len(times),
        most_layers=next(at for at, one in enumerate(sums, start=1) if one >= enough),
    )


def _points(sums: list[float]) -> tuple[CumulativePoint, ...]:
    step = -(-len(sums) // _MOST_POINTS)
    places = [0, *range(step, len(sums), step), len(sums)]
    every = [0.0, *sums]
    return tuple(
        CumulativePoint(layers=at, time_ms=every[at], share_pct=100 * every[at] / sums[-1])
        for at in places
    )
