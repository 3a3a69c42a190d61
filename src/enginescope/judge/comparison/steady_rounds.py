"""Which rounds of an interleaved comparison count.

While something else takes the processors, the median of one process is hardly known, and its
distance from the other side's says little. A round in which that happens to any process does not
count. The rule treats all sides alike: where both do the same work, the differences of the other
rounds are as symmetric as before, and `stats.hodges_lehmann` needs nothing else.

Where one side alone is disturbed, time after time, the cause is that side and not the machine.
Leaving its rounds out would hide that it is unstable, so they count.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from enginescope.judge.samples import Array
from enginescope.judge.stats.autocorrelation import BATCHES, quantile_interval
from enginescope.judge.stats.stability import WIDE_PCT

#: A process is disturbed if it is this many times as uncertain as the steadiest process of the
#: middle round. With less, that is how the work is.
_USUAL = 3.0
#: Chance at which sides that are disturbed alike are mistaken for one unstable side. So small since
#: the sides of rounds that are disturbed alone then all point one way, and the test is repeated
#: after every round: ``benchmarks/statistics/disturbed.py``.
ONE_SIDED = 0.005
#: Of samples that are many and cannot carry an interval, this middle share holds the median.
_MIDDLE = (0.025, 0.975)


def uncertainty_pct(values: Array) -> float | None:
    """Return what the median of a process is known to, ± in percent.

    Samples that drift or wander so far that hardly any of them counts on its own carry no
    interval. Their median is taken to lie anywhere among the middle 95 % of them.

    Args:
        values: In the order they were taken.

    Returns:
        ``None``: there are too few of them to tell, which is not a sign of load.
    """
    if (interval := quantile_interval(values, 0.5)) is not None:
        return interval.half_width_pct
    if len(values) < BATCHES:
        return None
    low, median, high = np.quantile(values, (_MIDDLE[0], 0.5, _MIDDLE[1]))
    return float(50 * (high - low) / median) if median > 0 else None


class Disturbances(NamedTuple):
    """Which rounds of a comparison count, and whose processes something disturbed.

    Attributes:
        counts: Whether each round counts.
        alone: For each side, the rounds in which only its process was disturbed.
        several: Rounds in which processes of several sides were disturbed.
        unstable: The side that causes its disturbances itself, by number.
    """

    counts: tuple[bool, ...]
    alone: tuple[int, ...]
    several: int
    unstable: int | None


def disturbances(uncertainties_pct: Sequence[Sequence[float | None]]) -> Disturbances:
    """Return which rounds count, and how many rounds were disturbed on which side.

    A process is disturbed where its median is known to no better than ±5 %, nor to three times what
    the steadiest process of the middle round is. Rounds with a disturbed process do not count,
    unless one side is unstable: then only rounds in which several sides were disturbed do not.
    Where no round would count, all do.

    Args:
        uncertainties_pct: For each side, the uncertainty of each round's process; ``None`` where
            samples are too few to know it.
    """
    disturbed = _disturbed(uncertainties_pct)
    single = [row.index(True) for row in disturbed if sum(row) == 1]
    alone = tuple(single.count(side) for side in range(len(uncertainties_pct)))
    unstable = _unstable_side(alone)
    return Disturbances(
        counts=_counting(disturbed, most=0 if unstable is None else 1),
        alone=alone,
        several=sum(sum(row) > 1 for row in disturbed),
        unstable=unstable,
    )


def steady_rounds(uncertainties_pct: Sequence[Sequence[float | None]]) -> tuple[bool, ...]:
    """Return in which rounds no process was disturbed; all of them where that is none.

    Args:
        uncertainties_pct: As in `disturbances`.
    """
    return _counting(_disturbed(uncertainties_pct), most=0)


def _counting(disturbed: Sequence[Sequence[bool]], *, most: int) -> tuple[bool, ...]:
    """Return which rounds have at most so many disturbed processes; all where none has."""
    counts = tuple(sum(row) <= most for row in disturbed)
    return counts if any(counts) else (True,) * len(counts)


def _disturbed(uncertainties_pct: Sequence[Sequence[float | None]]) -> list[list[bool]]:
    """Return for each round which of its processes were disturbed."""
    rows = list(zip(*uncertainties_pct, strict=True))
    limit = disturbance_limit_pct(rows)
    return [[(pct or 0.0) > limit for pct in row] for row in rows]


def disturbance_limit_pct(rows: Sequence[Sequence[float | None]]) -> float:
    """Return the uncertainty of a median, ± in percent, above which its process was disturbed.

    Args:
        rows: For each round, the uncertainty of each side.
    """
    usual = [min(pct or 0.0 for pct in row) for row in rows]
    return max(WIDE_PCT, _USUAL * float(np.median(usual))) if usual else WIDE_PCT


def _unstable_side(alone: Sequence[int]) -> int | None:
    """Return the side that is disturbed more often than its share, by an exact binomial test.

    What disturbs a machine strikes each of k sides alike, so that a round with one disturbed
    process is of each side with a chance of 1/k. Rounds in which several were disturbed do not
    tell the sides apart.
    """
    total, most = sum(alone), max(alone, default=0)
    if total == 0:
        return None
    chance = 1 / len(alone)
    tail = sum(
        math.comb(total, hits) * chance**hits * (1 - chance) ** (total - hits)
        for hits in range(most, total + 1)
    )
    return alone.index(most) if len(alone) * tail <= ONE_SIDED else None
