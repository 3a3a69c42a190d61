"""What processes that do the same work differ by, and what differences that leaves to be seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from enginescope.judge.comparison.hodges_lehmann import paired_shift
from enginescope.judge.comparison.ratio import LOOK_CONFIDENCE
from enginescope.judge.errors import UsageError
from enginescope.judge.stats.series import as_series

#: Comparisons drawn for one figure; their 80th percentile is uncertain by some 3 % of itself.
_DRAWS = 400
#: Up to so many rounds are drawn; of more, the width falls with the square root of their number.
_MOST_DRAWN = 60
#: Share of the comparisons that would find the difference.
POWER = 0.8


def scatter_of(medians: Sequence[float]) -> float:
    """Return half the width of the 95 % interval in which logarithms of medians lie.

    Two processes differ by √2 times as much or less in 95 of 100 cases, which is what it is taken
    from: the 95th percentile of the differences of all pairs, whatever their distribution.

    Args:
        medians: One a process, all of the same work; at least two, above 0.
    """
    series = as_series(medians, name="medians")
    if series.size < 2 or (series <= 0).any():
        raise UsageError("medians", why="run-to-run variation needs two or more values above 0")
    first, second = np.triu_indices(series.size, k=1)
    logs = np.log(series)
    apart = np.abs(logs[first] - logs[second])
    return float(np.quantile(apart, 0.95)) / math.sqrt(2)


def exceeds_scatter(medians: Sequence[float], sd: float) -> bool:
    """Whether processes scatter by more than a standard deviation, with an error rate of 5 %.

    The sum of squares against the 95th percentile of chi-squared, by Wilson and Hilferty's cube
    (1931, *The distribution of chi-square*).

    Args:
        medians: One a process, all of the same work; at least two, above 0.
        sd: Of their logarithms, above 0.
    """
    series = np.log(as_series(medians, name="medians", at_least=2))
    freedom = series.size - 1
    part = 2 / (9 * freedom)
    most = freedom * (1 - part + NormalDist().inv_cdf(0.95) * math.sqrt(part)) ** 3
    return bool(((series - series.mean()) ** 2).sum() > most * sd**2)


def smallest_difference(differences: Any, rounds: int) -> float | None:
    """Return the difference that a comparison of `rounds` would find in four of five cases.

    Rounds are drawn from those seen, each with either sign, since both sides did the same work; a
    shift is found where the interval of the drawn ones, moved by it, leaves out 0.

    Args:
        differences: Of the logarithms of both sides' medians, one a round.

    Returns:
        On the logarithmic scale; ``None`` where so few rounds have no interval.
    """
    series = as_series(differences, name="differences")
    drawn = min(rounds, _MOST_DRAWN)
    draw = np.random.default_rng(0)
    reaches = []
    for _ in range(_DRAWS):
        some = draw.choice(series, drawn) * draw.choice((-1.0, 1.0), drawn)
        low = paired_shift(some, confidence=LOOK_CONFIDENCE).low
        if low is None:
            return None
        reaches.append(-low)
    return float(np.quantile(reaches, POWER)) * math.sqrt(drawn / rounds)
