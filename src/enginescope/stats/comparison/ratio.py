"""The ratio of two sides' medians, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, Literal

import msgspec
import numpy as np

from enginescope.core.errors import UsageError
from enginescope.records.samples import Array, Interval
from enginescope.records.verdict.verdict import RatioEstimate
from enginescope.stats.batch_means import quantile_interval
from enginescope.stats.comparison.deciding import LOOKS
from enginescope.stats.comparison.few_processes import student_paired_shift, student_shift
from enginescope.stats.comparison.hodges_lehmann import Shift, paired_shift, unpaired_shift
from enginescope.stats.series import as_series

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
    rows in a gate needs it, the interval is Student's t.

    Args:
        a, b: Medians, one a round, in the same order; above 0.

    Raises:
        UsageError: Different lengths, no rounds, or a median that is not above 0.
    """
    if len(a) != len(b):
        raise UsageError(f"{len(a)} and {len(b)} rounds", why="a round has both sides")
    differences = _logs(b) - _logs(a)
    shift = paired_shift(differences, confidence=confidence)
    is_student = shift.low is None and len(a) >= LOOKS[0]
    if is_student:  # no rank of so few rounds is rare enough for this confidence
        shift = student_paired_shift(differences, confidence=confidence)
    estimate = _estimate(shift, "rounds", (len(a), len(b)), confidence)
    return msgspec.structs.replace(estimate, is_student=is_student)


def ratio_of_processes(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95
) -> RatioEstimate:
    """Return B ÷ A from the medians of processes that were not measured in turn.

    Args:
        a, b: Medians, one a process; above 0.

    Raises:
        UsageError: No processes, or a median that is not above 0.
    """
    shift = unpaired_shift(_logs(a), _logs(b), confidence=confidence)
    return _estimate(shift, "processes", (len(a), len(b)), confidence)


def ratio_of_few_processes(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95
) -> RatioEstimate:
    """Return B ÷ A from medians of processes that were not measured in turn, be they few.

    As `ratio_of_processes` where its ranks have an interval; else Student's t, from
    `FEWEST_TOGETHER` processes up.

    Args:
        a, b: Medians, one a process; above 0.

    Raises:
        UsageError: No processes, or a median that is not above 0.
    """
    found = ratio_of_processes(a, b, confidence=confidence)
    if found.interval is not None or len(a) + len(b) < FEWEST_TOGETHER:
        return found
    shift = student_shift(_logs(a), _logs(b), confidence=confidence)
    made = _estimate(shift, "processes", (len(a), len(b)), confidence)
    return msgspec.structs.replace(made, is_student=True)


def ratio_of_samples(a: Any, b: Any, *, scatter: float = 0.0) -> RatioEstimate:
    """Return B ÷ A from one process a side.

    Each median's own interval (`quantile_interval`) reaches
    from it by two lengths on the logarithmic scale; those of both sides add in squares (Zou and
    Donner 2008, *Construction of confidence limits about effect measures*), and so does what two
    processes doing the same work would differ by.

    Args:
        a, b: Samples in the order they were taken; medians above 0.
        scatter: Half the width of the 95 % interval in which the logarithms of the medians of
            processes of the same work lie; samples of one process cannot tell it.

    Raises:
        UsageError: No samples, or a median that is not above 0.
    """
    return ratio_by_scatter([a], [b], scatter=scatter)


def ratio_by_scatter(
    a: Sequence[Any], b: Sequence[Any], *, scatter: float = 0.0, confidence: float = 0.95
) -> RatioEstimate:
    """Return B ÷ A from so few processes that their scatter has to be known from elsewhere.

    As `ratio_of_samples`, of the middle of each side's medians, which is taken to be known no
    better than one median: two scatter less, but one that something disturbed is likelier among
    them.

    Args:
        a, b: The samples of each process.
        scatter: As in `ratio_of_samples`.
        confidence: Other intervals than those of 95 % have their ends as far as a normal
            distribution has.

    Raises:
        UsageError: No samples, or a median that is not above 0.
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
        raise UsageError("medians", why="one is not above 0: there is no ratio")
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
    n_a, n_b = counts
    return RatioEstimate(
        ratio=math.exp(shift.value), interval=interval, method=method, n_a=n_a, n_b=n_b
    )
