"""Shift between two sides, from few values and whatever their distribution.

The unit is a process: its median is one value. Intervals come from the signed ranks of differences
of pairs, or from the rank sum of two groups (Hodges and Lehmann 1963, *Estimates of location based
on rank tests*), with the exact distribution of either statistic. Two processes of one round that
do the same work, in random order, differ by a quantity whose distribution is symmetric about 0 by
construction, which is all that the signed ranks ask for: no normality, no equal variance, and one
disturbed process moves the interval little; ``docs/contributing/statistics-evidence.md`` shows it.

What few processes say of their level, and of the shift between two sides, by Student's t.

The rank statistics of `hodges_lehmann` assume nothing of how processes scatter, and so have no
interval of 95 % below four processes a side, or six of one. Of fewer, the logarithms of their
medians are taken for normally distributed, with one scatter on both sides. Where processes lie on
one of two levels that is wrong, and does harm where there are very few: two and two lie each on a
level of their own in one of eight cases, and then seem not to scatter at all.
``benchmarks/statistics/few_processes.py`` says how often it is.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from enginescope.judge.samples import Array, Interval
from enginescope.judge.stats.autocorrelation import student_quantile
from enginescope.judge.stats.series import as_series


class Shift(NamedTuple):
    """An estimate with its interval, in the unit of the values; no ends: too few values."""

    value: float
    low: float | None
    high: float | None


def paired_shift(differences: Any, *, confidence: float) -> Shift:
    """Return the pseudo-median of `differences` with its interval, from Walsh averages.

    Args:
        differences: One a round, B − A.
        confidence: 0…1, both excluded. The interval covers at least as often.

    Returns:
        Without ends where k is too small: 6 rounds are needed for 95 %, 8 for 99 %.
    """
    series = as_series(differences, name="differences")
    first, second = np.triu_indices(series.size)
    averages = np.sort((series[first] + series[second]) / 2)
    return _ends(averages, _signed_rank_counts(series.size), confidence)


def unpaired_shift(a: Any, b: Any, *, confidence: float) -> Shift:
    """Return the median of all differences b − a with its interval.

    Args:
        a, b: A value a process.

    Returns:
        Without ends where there are too few: 4 and 4 are needed for 95 %.
    """
    first, second = as_series(a, name="values of A"), as_series(b, name="values of B")
    differences = np.sort(np.subtract.outer(second, first).ravel())
    return _ends(differences, _rank_sum_counts(first.size, second.size), confidence)


def _ends(ordered: Array, counts: Array, confidence: float) -> Shift:
    """Cut the tails that the statistic falls into with a chance of half the rest of `confidence`.

    Args:
        ordered: Walsh averages or differences.
        counts: How often the statistic is 0…m where there is no shift, as shares.
    """
    middle = float(np.median(ordered))
    cut = _cut(counts, confidence)
    if cut == 0:
        return Shift(middle, None, None)
    return Shift(middle, float(ordered[cut - 1]), float(ordered[-cut]))


def _cut(counts: Array, confidence: float) -> int:
    """Return the rank of either end; 0: no rank is rare enough."""
    share = (1 - confidence) / 2 * (1 + 1e-12)
    return int(np.searchsorted(np.cumsum(counts), share, side="right"))


def rounds_needed(confidence: float) -> int:
    """Return the fewest rounds for which `paired_shift` has an interval of this confidence."""
    return next(n for n in count(1) if _cut(_signed_rank_counts(n), confidence))


def processes_needed(confidence: float) -> int:
    """Return the fewest processes a side for which `unpaired_shift` has such an interval."""
    return next(n for n in count(1) if _cut(_rank_sum_counts(n, n), confidence))


def paired_shifts(rows: Array, *, confidence: float) -> Array:
    """Return `paired_shift` of each row: low end, value and high end, a row each.

    Args:
        rows: Differences, B − A, of as many rounds in each row.
        confidence: 0…1, both excluded.

    Returns:
        Ends of −∞ and ∞ where there are too few rounds.
    """
    first, second = np.triu_indices(rows.shape[1])
    averages = np.sort((rows[:, first] + rows[:, second]) / 2, axis=1)
    cut = _cut(_signed_rank_counts(rows.shape[1]), confidence)
    least = np.full(len(rows), -np.inf)
    ends = (averages[:, cut - 1], averages[:, -cut]) if cut else (least, -least)
    return np.column_stack((ends[0], np.median(averages, axis=1), ends[1]))


@lru_cache(maxsize=256)
def _signed_rank_counts(n: int) -> Array:
    """Return the distribution of Wilcoxon's signed-rank statistic of n values."""
    shares = np.ones(1)
    for rank in range(1, n + 1):
        longer = np.zeros(shares.size + rank)
        longer[: shares.size] += shares / 2
        longer[rank:] += shares / 2
        shares = longer
    shares.setflags(write=False)
    return shares


@lru_cache(maxsize=256)
def _rank_sum_counts(m: int, n: int) -> Array:
    """Return the distribution of the Mann-Whitney statistic of m and n values.

    The Gaussian binomial coefficient, factor by factor: ``Π (1 − qⁿ⁺ⁱ) / (1 − qⁱ)``; in whole
    numbers, since the terms of either sign are far larger than what is left of them.
    """
    size = m * n + 1
    counts = [1] + [0] * (size - 1)
    for i in range(1, m + 1):
        for place in range(size - 1, n + i - 1, -1):
            counts[place] -= counts[place - n - i]
        for place in range(i, size):
            counts[place] += counts[place - i]
    total = sum(counts)
    shares = np.array([count / total for count in counts])
    shares.setflags(write=False)
    return shares


def student_shift(a: Any, b: Any, *, confidence: float) -> Shift:
    """Return the difference of the medians b − a with Student's interval around it.

    Args:
        a, b: A value a process, such as the logarithm of its median.
        confidence: 0…1, both excluded.

    Returns:
        Without ends where both sides together have fewer than three values.
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
    shift = paired_shift(logs, confidence=confidence)
    if shift.low is None or shift.high is None:
        shift = student_paired_shift(logs, confidence=confidence)
    assert shift.low is not None
    assert shift.high is not None
    middle = float(np.median(logs))  # what is shown lies within
    low, high = min(shift.low, middle), max(shift.high, middle)
    return Interval(low=math.exp(low), high=math.exp(high), confidence=confidence)
