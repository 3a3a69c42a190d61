"""The headline's percentiles, and how many layers take how much of the time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.core.record import Record
from enginescope.judge.samples import Percentile, Samples
from enginescope.judge.stats.describe import describe_values

#: Percentiles of the curve: closer in the tail, which a logarithmic axis spreads.
POINTS = (1.0, 5.0, *map(float, range(10, 90, 10)), *map(float, range(90, 100)), 99.5, 99.9)


def percentile_curve(samples: Samples) -> tuple[Percentile, ...]:
    """Return the percentiles of `samples`, each with its interval or its mark."""
    return describe_values(samples.values_ms, percentiles=POINTS).percentiles


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
