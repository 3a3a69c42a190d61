"""The ratio of two sides' medians and the mean of several ratios, each with its interval.

From a ratio and its interval to a verdict; when to look, and how sure to be at each look.

A difference counts when the interval leaves out 1 and the ratio itself is beyond the threshold.
Two sides are the same when the whole interval lies within it. Everything else is inconclusive.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from enginescope.judge.comparison.hodges_lehmann import (
    Shift,
    paired_shift,
    student_paired_shift,
    student_shift,
    unpaired_shift,
)
from enginescope.judge.comparison.looks import EARLY_LOOK, LOOK_CONFIDENCE, LOOKS, OBVIOUS
from enginescope.judge.comparison.steady_rounds import disturbances
from enginescope.judge.errors import UsageError
from enginescope.judge.samples import Array, Interval
from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.judge.stats.series import as_series
from enginescope.judge.verdict import DisturbedRounds, RatioEstimate, Reason, Verdict, VerdictKind

#: An experiment ends where the chance that its last look decides is smaller.
LEAST_CHANCE = 0.05
_NORMAL = NormalDist()
_STEPS = 60


def decide(
    estimate: RatioEstimate, threshold_pct: float, *, higher_is_better: bool = False
) -> tuple[VerdictKind, Reason]:
    """Return what may be said of B, and why.

    Args:
        estimate: B ÷ A.
        threshold_pct: Differences up to this do not matter: 1 means ratios of 1/1.01 … 1.01.
        higher_is_better: Of a rate; else of a time.
    """
    interval = estimate.interval
    if interval is None:
        return VerdictKind.INCONCLUSIVE, Reason.NO_INTERVAL
    edge = math.log1p(threshold_pct / 100)
    low, middle, high = (math.log(one) for one in (interval.low, estimate.ratio, interval.high))
    if -edge < low and high < edge:
        return VerdictKind.SAME, Reason.WITHIN_THRESHOLD
    if abs(middle) > edge and (low > 0 or high < 0):
        better = (middle > 0) is higher_is_better
        return (VerdictKind.FASTER if better else VerdictKind.SLOWER), Reason.BEYOND_THRESHOLD
    return VerdictKind.INCONCLUSIVE, Reason.INTERVAL_TOO_WIDE


def corrected_ratio(estimate: RatioEstimate, threshold_pct: float) -> float | None:
    """Return the ratio corrected for a comparison that ended since it could call a difference.

    Such a comparison ends sooner with a ratio that lies too far from 1 by chance. The result is the
    median-unbiased estimate among all estimates of this precision that would have ended it too
    (conditional on the decision, with a normal distribution of the logarithm). It does not pass the
    end of the interval that is nearer to 1.

    Args:
        threshold_pct: As given to `decide`.

    Returns:
        ``None`` where `decide` calls no difference.
    """
    kind, _ = decide(estimate, threshold_pct)
    interval = estimate.interval
    if interval is None or kind not in (VerdictKind.FASTER, VerdictKind.SLOWER):
        return None
    sign = 1 if estimate.ratio > 1 else -1
    shift = abs(math.log(estimate.ratio))
    nearest = min(abs(math.log(interval.low)), abs(math.log(interval.high)))
    error = (shift - nearest) / _NORMAL.inv_cdf((1 + interval.confidence) / 2)
    least = max(shift - nearest, math.log1p(threshold_pct / 100))
    if error <= 0:
        return estimate.ratio
    low, high = nearest, shift
    for _ in range(_STEPS):
        middle = (low + high) / 2
        beyond, decided = (_NORMAL.cdf((middle - one) / error) for one in (shift, least))
        low, high = (middle, high) if beyond < decided / 2 else (low, middle)
    return math.exp(sign * high)


def more_needed(
    estimate: RatioEstimate, threshold_pct: float, *, scatter: float = 0.0
) -> int | None:
    """Return how many more units would probably decide it, if the ratio stays where it is.

    The half-width falls with the square root of their number. It has to come down to the ratio's
    distance from 1, or to what is left of the threshold, whichever is the sooner.

    Args:
        scatter: What of the half-width, in logarithms, no number of units takes away; it and the
            rest add in squares.

    Returns:
        At least 1; ``None`` without an interval, or where it would take a hundred times as many.
    """
    interval = estimate.interval
    if interval is None:
        return None
    edge, middle = math.log1p(threshold_pct / 100), math.log(estimate.ratio)
    half = (math.log(interval.high) - math.log(interval.low)) / 2
    wanted = abs(middle) if abs(middle) > edge else edge - abs(middle)
    if wanted <= scatter or half <= scatter:
        return None
    n = max(estimate.n_a, estimate.n_b)
    factor = (half**2 - scatter**2) / (wanted**2 - scatter**2)
    return max(1, math.ceil(n * factor) - n) if factor <= 100 else None


def chance_of_decision(estimate: RatioEstimate, threshold_pct: float, units: int) -> float:
    """Return the chance that an interval from `units` units in all would decide it.

    The half-width falls with the square root of their number. The ratio will lie about the present
    one, as far as the units still to come can move it (predictive distribution).

    Returns:
        0 where the present interval says nothing of later ones: there is none, or it is a point.
    """
    interval = estimate.interval
    n = max(estimate.n_a, estimate.n_b)
    if interval is None or interval.low == interval.high or units <= n:
        return 0.0
    edge, middle = math.log1p(threshold_pct / 100), math.log(estimate.ratio)
    half = (math.log(interval.high) - math.log(interval.low)) / 2
    error = half / _NORMAL.inv_cdf((1 + interval.confidence) / 2) * math.sqrt(1 - n / units)
    later = NormalDist(middle, error)
    least = half * math.sqrt(n / units)
    beyond, room = max(edge, least), max(edge - least, 0.0)
    return 1 - later.cdf(beyond) + later.cdf(-beyond) + later.cdf(room) - later.cdf(-room)


def is_out_of_reach(verdict: Verdict, units: int) -> bool:
    """Whether so many units in all would hardly decide an open verdict."""
    if verdict.reason is not Reason.INTERVAL_TOO_WIDE or verdict.estimate is None:
        return False
    return chance_of_decision(verdict.estimate, verdict.threshold_pct, units) < LEAST_CHANCE


#: So many processes of both sides together say how processes scatter, where one scatter is taken
#: for both; fewer lie too often on one of two levels by chance, and seem not to scatter.
FEWEST_TOGETHER = 6


def middle_of(values: Sequence[float]) -> float:
    """Return the median; of an even number, the geometric mean of the two middle values.

    The quotient of two such medians is the estimate wherever it does not come from ranks.

    Args:
        values: At least one; above 0.
    """
    ordered = sorted(values)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if low == high else math.sqrt(low * high)


def ratio_of_rounds(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95
) -> RatioEstimate:
    """Return B ÷ A where each round measured one process of either side.

    What all processes of a round share, such as a neighbor's load or a warm chip, divides out.
    Where the ranks of `LOOKS`' fewest rounds or more cannot reach the confidence, as one of many
    rows in a gate needs it, the interval is Student's t. It then reaches to the ratio at least,
    which is that of ranks at any confidence. Fewer rounds have one only if it is obvious.

    Args:
        a, b: Medians, one a round, in the same order; above 0.
    """
    if len(a) != len(b):
        raise UsageError(f"{len(a)} and {len(b)} rounds", why="a round has both sides")
    differences = _logs(b) - _logs(a)
    by_ranks = _of_rounds(paired_shift(differences, confidence=confidence), len(a), confidence)
    if by_ranks.interval is not None:
        return by_ranks
    if len(a) < LOOKS[0]:
        return _obvious(differences, confidence) or by_ranks
    return _student_of_rounds(differences, confidence)


def _obvious(differences: Array, confidence: float) -> RatioEstimate | None:
    """Return the ratio if it is beyond a factor of `OBVIOUS` with the confidence of a look."""
    if len(differences) < EARLY_LOOK:
        return None
    student = _student_of_rounds(differences, max(confidence, LOOK_CONFIDENCE))
    assert student.interval is not None
    is_beyond = student.interval.low > OBVIOUS or student.interval.high < 1 / OBVIOUS
    return student if is_beyond else None


def ratio_of_few_rounds(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95
) -> RatioEstimate:
    """Return B ÷ A as `ratio_of_rounds`; of two rounds or more with an interval in any case."""
    if len(a) >= LOOKS[0] or len(a) != len(b):
        return ratio_of_rounds(a, b, confidence=confidence)
    differences = _logs(b) - _logs(a)
    by_ranks = _of_rounds(paired_shift(differences, confidence=confidence), len(a), confidence)
    if by_ranks.interval is not None or len(a) < 2:
        return by_ranks
    return _student_of_rounds(differences, confidence)


def _student_of_rounds(differences: Array, confidence: float) -> RatioEstimate:
    """Return the ratio of ranks with Student's interval, which reaches to it at least."""
    value = paired_shift(differences, confidence=confidence).value
    _, low, high = student_paired_shift(differences, confidence=confidence)
    assert low is not None
    assert high is not None
    shift = Shift(value, min(low, value), max(high, value))
    return replace(_of_rounds(shift, len(differences), confidence), is_student=True)


def _of_rounds(shift: Shift, rounds: int, confidence: float) -> RatioEstimate:
    return _estimate(shift, "rounds", (rounds, rounds), confidence)


def ratio_of_counting_rounds(
    medians: tuple[Sequence[float], Sequence[float]],
    uncertainties_pct: Sequence[Sequence[float | None]],
    *,
    confidence: float = 0.95,
) -> tuple[RatioEstimate, tuple[list[float], list[float]]]:
    """Return B ÷ A over the rounds that count (`disturbances`), and the medians of these rounds.

    Where they are too few for an interval, all rounds count for a difference that is obvious.

    Args:
        medians: Of A and of B, one a round, in the same order; above 0.
        uncertainties_pct: What each of them is known to, as `disturbances` takes it.
    """
    found = disturbances(uncertainties_pct)
    a, b = (list(compress(side, found.counts)) for side in medians)
    unstable: Literal["a", "b", None] = None
    if found.unstable is not None:
        unstable = "b" if found.unstable else "a"
    alone_a, alone_b = found.alone
    disturbed = DisturbedRounds(a=alone_a, b=alone_b, both=found.several, unstable=unstable)
    estimate = ratio_of_rounds(a, b, confidence=confidence)
    if estimate.interval is None:
        obvious = _obvious(_logs(medians[1]) - _logs(medians[0]), confidence)
        if obvious is not None:
            estimate, (a, b) = obvious, map(list, medians)
    left_out = len(found.counts) - len(a)
    return replace(estimate, left_out=left_out, disturbed=disturbed), (a, b)


def ratio_of_processes(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95
) -> RatioEstimate:
    """Return B ÷ A from the medians of processes that were not interleaved.

    Args:
        a, b: Medians, one a process; above 0.
    """
    shift = unpaired_shift(_logs(a), _logs(b), confidence=confidence)
    return _estimate(shift, "processes", (len(a), len(b)), confidence)


def ratio_of_few_processes(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95
) -> RatioEstimate:
    """Return B ÷ A from medians of processes that were not interleaved, be they few.

    As `ratio_of_processes` where its ranks have an interval; else Student's t, from
    `FEWEST_TOGETHER` processes up.

    Args:
        a, b: Medians, one a process; above 0.
    """
    found = ratio_of_processes(a, b, confidence=confidence)
    if found.interval is not None or len(a) + len(b) < FEWEST_TOGETHER:
        return found
    shift = student_shift(_logs(a), _logs(b), confidence=confidence)
    made = _estimate(shift, "processes", (len(a), len(b)), confidence)
    return replace(made, is_student=True)


def ratio_by_scatter(
    a: Sequence[Any], b: Sequence[Any], *, scatter: float = 0.0, confidence: float = 0.95
) -> RatioEstimate:
    """Return B ÷ A from so few processes that their scatter has to be known from elsewhere.

    Each median's own interval (`quantile_interval`) reaches from it by two lengths on the
    logarithmic scale; those of both sides add in squares (Zou and Donner 2008, *Construction of
    confidence limits about effect measures*), and so does what two processes doing the same work
    would differ by. The middle of each side's medians is taken to be known no better than one
    median: two scatter less, but one that something disturbed is likelier among them.

    Args:
        a, b: The samples of each process, in the order they were taken; medians above 0.
        scatter: Half the width of the 95 % interval in which the logarithms of the medians of
            processes of the same work lie; samples of one process cannot tell it.
        confidence: Other intervals than those of 95 % have their ends as far as a normal
            distribution has.
    """
    first = [as_series(one, name="samples of A") for one in a]
    second = [as_series(one, name="samples of B") for one in b]
    logs_a, logs_b = (_logs([np.median(one) for one in side]) for side in (first, second))
    middle = float(np.median(logs_b) - np.median(logs_a))
    reach_a, reach_b = _reach(first, logs_a), _reach(second, logs_b)
    low = high = None
    if reach_a is not None and reach_b is not None:
        times = NormalDist().inv_cdf((1 + confidence) / 2) / NormalDist().inv_cdf(0.975)
        low = middle - times * math.sqrt(reach_b[0] ** 2 + reach_a[1] ** 2 + 2 * scatter**2)
        high = middle + times * math.sqrt(reach_b[1] ** 2 + reach_a[0] ** 2 + 2 * scatter**2)
    counts = (sum(one.size for one in first), sum(one.size for one in second))
    return _estimate(Shift(middle, low, high), "samples", counts, confidence)


def _reach(side: Sequence[Array], logs: Array) -> tuple[float, float] | None:
    """Return how far a median's interval goes down and up, on the logarithmic scale."""
    down = up = 0.0
    for series, middle in zip(side, map(float, logs), strict=True):
        found = quantile_interval(series, 0.5)
        if found is None or found.low <= 0:
            return None
        down += max(middle - math.log(found.low), 0.0) ** 2
        up += max(math.log(found.high) - middle, 0.0) ** 2
    return math.sqrt(down / len(side)), math.sqrt(up / len(side))


def _logs(values: Sequence[Any]) -> Array:
    series = as_series(values, name="medians")
    if (series <= 0).any():
        raise UsageError("medians", why="one is not above 0, so the ratio is undefined")
    logs: Array = np.log(series)
    return logs


def _estimate(
    shift: Shift,
    method: Literal["rounds", "processes", "samples"],
    counts: tuple[int, int],
    confidence: float,
) -> RatioEstimate:
    interval = None
    if shift.low is not None and shift.high is not None:
        low, high = math.exp(shift.low), math.exp(shift.high)
        interval = Interval(low=low, high=high, confidence=confidence)
    ratio, (n_a, n_b) = math.exp(shift.value), counts
    return RatioEstimate(ratio=ratio, interval=interval, method=method, n_a=n_a, n_b=n_b)


class MeasuredRatio(NamedTuple):
    """One ratio.

    Attributes:
        interval: ``None``: not known.
        is_exact: The figures do not scatter, such as a file's size: there is nothing to add.
    """

    ratio: float
    interval: Interval | None
    is_exact: bool = False


def mean_ratio(
    ratios: Sequence[MeasuredRatio], *, is_shared: bool = False
) -> tuple[float, Interval | None]:
    """Return the geometric mean of `ratios` with its interval.

    The interval is about these models and no others. What each ratio's interval reaches to either
    side adds in squares on the logarithmic scale (Zou and Donner 2008, *Construction of confidence
    limits about effect measures*). Intervals of other confidence than the lowest of all are
    narrowed as those of a normal distribution.

    Args:
        ratios: At least one; above 0.
        is_shared: The errors have a common cause, such as the session, and do not average out:
            their reaches add as they are.

    Returns:
        No interval where one of the ratios has none.
    """
    count = len(ratios)
    middle = sum(math.log(one.ratio) for one in ratios) / count
    intervals = [(one.ratio, one.interval) for one in ratios if not one.is_exact]
    known = [(ratio, interval) for ratio, interval in intervals if interval is not None]
    if len(known) < len(intervals):
        return math.exp(middle), None
    confidence = min((interval.confidence for _, interval in known), default=0.95)
    down, up = [], []
    for ratio, interval in known:
        factor = _quantile(confidence) / _quantile(interval.confidence)
        down.append(factor * math.log(ratio / interval.low))
        up.append(factor * math.log(interval.high / ratio))
    add = math.fsum if is_shared else lambda values: math.hypot(*values)
    return math.exp(middle), Interval(
        low=math.exp(middle - add(down) / count),
        high=math.exp(middle + add(up) / count),
        confidence=confidence,
    )


def _quantile(confidence: float) -> float:
    return _NORMAL.inv_cdf((1 + confidence) / 2)
