"""How often an interleaved comparison finds a planted difference: measured rounds, drawn anew.

Both sides of the measured rounds did the same work, so either may be called A. A drawn comparison
takes rounds at random, with replacement; calls either side of each A at random; and multiplies the
times of B by a factor, which moves the logarithm of its ratio by the factor's. It then ends as a
real one does: at the first look that decides it, or after the last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from enginescope.judge.comparison.hodges_lehmann import paired_shifts
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE
from enginescope.judge.samples import Array
from enginescope.judge.stats.mlperf_queries import binomial_cumulative
from enginescope.judge.stats.series import as_series

#: More rounds in a comparison would make the drawn ones take minutes.
MOST_ROUNDS = 120
#: Comparisons drawn from the measured rounds.
DRAWS = 4_000
#: Sets of rounds drawn from the measured ones, as they might have been, and comparisons of each.
_SETS, _DRAWS_EACH = 200, 80
#: Rounds of a set, of the measured ones: with all, too few intervals cover the true share
#: (``benchmarks/statistics/self_test.py``).
_SET_SHARE = 2 / 3
#: Comparisons that are computed at once.
_AT_ONCE = 500
#: Share of the comparisons that has to find a difference.
FOUND = 0.95
_TAILS = (0.025, 0.975)
_STEPS = 60


class Shares(NamedTuple):
    """What came of drawn comparisons, one value for each difference, 0…1.

    Attributes:
        found: Called B slower; where nothing is planted: slower or faster.
        low, high: 95 % interval of `found`.
        same: Called the sides equal.
        wrong: Called B faster.
        rounds: Mean number of rounds until the end.
    """

    found: Array
    low: Array
    high: Array
    same: Array
    wrong: Array
    rounds: Array


class Smallest(NamedTuple):
    """The smallest difference found often enough, in percent, and its 95 % interval; ∞: none."""

    difference_pct: float
    low_pct: float
    high_pct: float


class DrawnComparisons:
    """Comparisons drawn from measured rounds.

    The intervals allow for both the number of drawn comparisons and that of measured rounds. They
    are quantiles over sets of rounds drawn from the measured ones, with comparisons of each set.
    They are never narrower than the exact binomial intervals of the drawn comparisons.
    """

    def __init__(
        self, differences: Sequence[float], looks: Sequence[int], threshold_pct: float
    ) -> None:
        """Draw them.

        Args:
            differences: Logarithm of B ÷ A of each measured round that counts.
            looks: Numbers of rounds after which a comparison may end.
            threshold_pct: Differences up to this do not matter.
        """
        series = as_series(differences, name="differences")
        draw = np.random.default_rng(0)
        self._looks = tuple(looks)
        self._edge = math.log1p(threshold_pct / 100)
        self._drawn = self._shifts(series, DRAWS, draw)
        size = math.ceil(_SET_SHARE * series.size)
        sets = [draw.choice(series, size) for _ in range(_SETS)]
        self._sets = [self._shifts(one, _DRAWS_EACH, draw) for one in sets]

    def _shifts(self, series: Array, count: int, draw: np.random.Generator) -> Array:
        """Return low end, value and high end of each comparison at each look."""
        most = self._looks[-1]
        parts = []
        for begin in range(0, count, _AT_ONCE):
            shape = (min(_AT_ONCE, count - begin), most)
            rows = draw.choice(series, shape) * draw.choice((-1.0, 1.0), shape)
            looks = [paired_shifts(rows[:, :n], confidence=LOOK_CONFIDENCE) for n in self._looks]
            parts.append(np.stack(looks, axis=1))
        return np.concatenate(parts)

    def shares(self, differences_pct: Sequence[float]) -> Shares:
        """Return the shares of verdicts and the mean number of rounds, by planted difference."""
        rows = np.array([self._ends(self._drawn, planted) for planted in differences_pct])
        share, same, wrong, rounds = rows.T
        sets = np.array([[self._ends(one, d)[0] for d in differences_pct] for one in self._sets])
        low, high = np.quantile(sets, _TAILS, axis=0)
        ends = np.array([share_interval(round(one * DRAWS), DRAWS) for one in share]).T
        low, high = np.minimum(low, ends[0]), np.maximum(high, ends[1])
        return Shares(share, low, high, same, wrong, rounds)

    def _ends(self, shifts: Array, difference_pct: float) -> tuple[float, float, float, float]:
        """Return the shares that are found, the same and wrong, and the mean number of rounds."""
        low, middle, high = np.moveaxis(shifts + math.log1p(difference_pct / 100), 2, 0)
        same = (-self._edge < low) & (high < self._edge)
        slower = (middle > self._edge) & (low > 0)
        faster = (middle < -self._edge) & (high < 0)
        decided = same | slower | faster
        last = np.ones((len(decided), 1), dtype=bool)
        at = np.argmax(np.concatenate((decided[:, :-1], last), axis=1), axis=1)
        row = np.arange(len(at))
        right, wrong = slower[row, at].mean(), faster[row, at].mean()
        if difference_pct == 0:
            right, wrong = right + wrong, 0.0
        rounds = np.array(self._looks)[at].mean()
        return float(right), float(same[row, at].mean()), float(wrong), float(rounds)

    def smallest(self) -> Smallest:
        """Return the smallest difference that `FOUND` of the comparisons find."""
        sets = [self._smallest(one) for one in self._sets]
        own = self._smallest(self._drawn)
        low, high = np.quantile(sets, _TAILS, method="nearest")
        return Smallest(own, min(float(low), own), max(float(high), own))

    def _smallest(self, shifts: Array) -> float:
        """Return the least difference in percent, by bisection of its logarithm; ∞: above 100."""
        low, high = math.log(1e-3), math.log(100.0)
        if self._ends(shifts, math.exp(high))[0] < FOUND:
            return math.inf
        while high - low > 0.005:
            middle = (low + high) / 2
            is_found = self._ends(shifts, math.exp(middle))[0] >= FOUND
            low, high = (low, middle) if is_found else (middle, high)
        return math.exp(high)


def share_interval(hits: int, total: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share (Clopper and Pearson 1934), 0…1.

    Args:
        hits: 0…`total`.
        total: At least 1.
    """
    if hits == 0:
        return 0.0, 1 - _TAILS[0] ** (1 / total)
    if hits == total:
        return _TAILS[0] ** (1 / total), 1.0
    low = _share_where(hits - 1, total, _TAILS[1])
    return low, _share_where(hits, total, _TAILS[0])


def _share_where(hits: int, total: int, chance: float) -> float:
    """Return the share at which up to `hits` of `total` have this chance, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_likelier = binomial_cumulative(total, middle, hits)[-1] > chance
        low, high = (middle, high) if is_likelier else (low, middle)
    return (low + high) / 2
