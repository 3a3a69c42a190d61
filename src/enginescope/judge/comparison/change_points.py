"""Where the level of a series of medians changes.

A series is cut into stretches of one level each: exactly, by dynamic programming over all ways to
cut it (Jackson et al. 2005, *An algorithm for optimal partitioning of data on an interval*; PELT,
Killick et al. 2012, prunes the same search and ends at the same cuts). What a cut has to earn is
the penalty. A cut that the rank sum of its neighbors does not bear out, or that is smaller than
matters, is taken back, the least one first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from enginescope.judge.comparison.ratio import decide, ratio_of_few_processes, ratio_of_processes
from enginescope.judge.errors import UsageError
from enginescope.judge.samples import Array
from enginescope.judge.stats.series import as_series
from enginescope.judge.verdict import RatioEstimate, VerdictKind

#: A stretch has at least so many values: a single one may be an outlier.
LEAST = 2
#: With fewer values, no change can be found.
FEWEST_POINTS = 2 * LEAST
#: Times variance times the logarithm of the number of values: what a cut has to earn.
PENALTY = 3.0
#: Of the interval that has to leave out 1.
CONFIDENCE = 0.99
#: Values farther from the median of their neighbors than so many standard deviations are taken for
#: spikes and moved there, for finding cuts alone.
_SPIKE = 3.0
_AROUND = 3
#: So many values on either side of a cut, the nearest, bear it out.
NEIGHBOURS = 20
#: Noise is taken to be at least this, on the logarithmic scale.
_LEAST_NOISE = 2e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """A change of level.

    Attributes:
        at: The first value of the new level.
        estimate: The new level ÷ the old one.
        is_sure: Its interval leaves out 1 and the ratio is beyond the threshold.
    """

    at: int
    estimate: RatioEstimate
    is_sure: bool


def change_points(values: Sequence[float], *, threshold_pct: float) -> tuple[ChangePoint, ...]:
    """Return the changes of level in a series of medians, the oldest first.

    Args:
        values: Above 0, in the order of time.
        threshold_pct: Smaller changes do not matter.

    Returns:
        Sure ones, and after them at most one that is not: of the newest values, where all lie far
        from their level and are too few to be one.
    """
    series = as_series(values, name="medians")
    if (series <= 0).any():
        raise UsageError("medians", why="one is not above 0, so the ratio is undefined")
    smooth = _without_spikes(np.log(series))
    cuts = list(cut(smooth, penalty_of(smooth)))
    while True:
        ends = [0, *cuts, series.size]
        found = [
            _change(series, (ends[at - 1], ends[at], ends[at + 1]), threshold_pct)
            for at in range(1, len(ends) - 1)
        ]
        weak = [one for one in found if not one.is_sure]
        if not weak:
            return (*found, *_perhaps(series, ends[-2], threshold_pct))
        least = min(weak, key=lambda one: abs(math.log(one.estimate.ratio)))
        cuts.remove(least.at)


def newest_against_level(values: Sequence[float], start: int) -> RatioEstimate | None:
    """Return the newest `LEAST` values ÷ those before them in their level.

    Args:
        values: As for `change_points`.
        start: Place of the first value of the level.

    Returns:
        ``None``: the level has too few values for an interval.
    """
    at = len(values) - LEAST
    before = values[max(start, at - NEIGHBOURS) : max(at, 0)]
    if len(before) < LEAST:
        return None
    found = ratio_of_few_processes(before, values[at:], confidence=CONFIDENCE)
    return found if found.interval is not None else None


def cut(series: Array, penalty: float, *, least: int = LEAST) -> tuple[int, ...]:
    """Return where the stretches begin into which `series` is best cut, but for the first.

    The cost of a stretch is the sum of the squares about its mean; each cut costs `penalty`.
    """
    n = series.size
    if n < 2 * least:
        return ()
    sums = np.concatenate([[0.0], np.cumsum(series - series.mean())])
    squares = np.concatenate([[0.0], np.cumsum((series - series.mean()) ** 2)])
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    before = np.zeros(n + 1, dtype=np.intp)
    for end in range(least, n + 1):
        start = np.arange(end - least + 1)
        cost = squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / (end - start)
        total = best[start] + cost + penalty
        before[end] = int(np.argmin(total))
        best[end] = total[before[end]]
    found = []
    at = int(before[n])
    while at > 0:
        found.append(at)
        at = int(before[at])
    return tuple(reversed(found))


def penalty_of(series: Array) -> float:
    """Return what a cut of logarithms of medians has to earn."""
    return PENALTY * noise_of(series) ** 2 * math.log(max(series.size, 2))


def noise_of(series: Array) -> float:
    """Return the standard deviation of neighbors about their level, whatever the levels do.

    From the differences of neighbours: the larger of what their median and their 90th percentile
    give, so that ties do not make it 0.
    """
    if series.size < 2:
        return _LEAST_NOISE
    apart = np.abs(np.diff(series))
    spread = max(1.4826 * float(np.median(apart)), float(np.quantile(apart, 0.9)) / 1.6449)
    return max(spread / math.sqrt(2), _LEAST_NOISE)


def _without_spikes(series: Array) -> Array:
    reach = _SPIKE * noise_of(series)
    around = (series[max(0, at - _AROUND) : at + _AROUND + 1] for at in range(series.size))
    middle = np.array([np.median(part) for part in around])
    clipped: Array = np.clip(series, middle - reach, middle + reach)
    return clipped


def _change(series: Array, ends: tuple[int, int, int], threshold_pct: float) -> ChangePoint:
    start, at, end = ends
    old = series[max(start, at - NEIGHBOURS) : at]
    new = series[at : min(end, at + NEIGHBOURS)]
    estimate = ratio_of_processes(list(old), list(new), confidence=CONFIDENCE)
    kind, _ = decide(estimate, threshold_pct)
    sure = kind in (VerdictKind.FASTER, VerdictKind.SLOWER)
    return ChangePoint(at=at, estimate=estimate, is_sure=sure)


def _perhaps(series: Array, start: int, threshold_pct: float) -> tuple[ChangePoint, ...]:
    """Return the newest values if all of them lie far from their level, on one side of it."""
    logs = np.log(series[start:])
    apart = logs - np.median(logs)
    reach = max(math.log1p(threshold_pct / 100), _SPIKE * noise_of(np.log(series)))
    far = np.sign(apart) * (np.abs(apart) > reach)
    same = far == far[-1]
    count = logs.size if same.all() else int(np.argmin(same[::-1]))
    if far[-1] == 0 or count == logs.size:
        return ()
    at = series.size - count
    found = _change(series, (start, at, series.size), threshold_pct)
    return (replace(found, is_sure=False),)
