"""The ratio of two sides' medians, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from enginescope.core.errors import UsageError
from enginescope.model.samples import Array, Interval
from enginescope.model.verdict import RatioEstimate
from enginescope.stats.bootstrap import quantile_interval
from enginescope.stats.hodges_lehmann import Shift, paired_shift, unpaired_shift
from enginescope.stats.series import as_series


def ratio_of_rounds(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95
) -> RatioEstimate:
    """Return B ÷ A where each round measured one process of either side.

    What all processes of a round share, such as a neighbour's load or a warm chip, divides out.

    Parameters
    ----------
    a, b : sequence of float
        Medians, one a round, in the same order; above 0.
    confidence : float

    Raises
    ------
    UsageError
        Different lengths, no rounds, or a median that is not above 0.
    """
    if len(a) != len(b):
        raise UsageError(f"{len(a)} and {len(b)} rounds", why="a round has both sides")
    shift = paired_shift(_logs(b) - _logs(a), confidence=confidence)
    return _estimate(shift, "rounds", (len(a), len(b)), confidence)


def ratio_of_processes(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95
) -> RatioEstimate:
    """Return B ÷ A from the medians of processes that were not measured in turn.

    Parameters
    ----------
    a, b : sequence of float
        Medians, one a process; above 0.
    confidence : float

    Raises
    ------
    UsageError
        No processes, or a median that is not above 0.
    """
    shift = unpaired_shift(_logs(a), _logs(b), confidence=confidence)
    return _estimate(shift, "processes", (len(a), len(b)), confidence)


def ratio_of_samples(a: Any, b: Any, *, scatter: float = 0.0) -> RatioEstimate:
    """Return B ÷ A from one process a side.

    Each median's own interval (`quantile_interval`: blocks that follow the autocorrelation) reaches
    from it by two lengths on the logarithmic scale; those of both sides add in squares (Zou and
    Donner 2008, *Construction of confidence limits about effect measures*), and so does what two
    processes doing the same work would differ by.

    Parameters
    ----------
    a, b : array_like, shapes (m,) and (n,)
        Samples in the order they were taken; medians above 0.
    scatter : float
        Half the width of the 95 % interval in which the logarithms of the medians of processes of
        the same work lie; samples of one process cannot tell it.

    Raises
    ------
    UsageError
        No samples, or a median that is not above 0.
    """
    first = as_series(a, name="samples of A")
    second = as_series(b, name="samples of B")
    (log_a,), (log_b,) = _logs([np.median(first)]), _logs([np.median(second)])
    middle = float(log_b - log_a)
    reach_a, reach_b = _reach(first, float(log_a)), _reach(second, float(log_b))
    low = high = None
    if reach_a is not None and reach_b is not None:
        low = middle - math.sqrt(reach_b[0] ** 2 + reach_a[1] ** 2 + 2 * scatter**2)
        high = middle + math.sqrt(reach_b[1] ** 2 + reach_a[0] ** 2 + 2 * scatter**2)
    return _estimate(Shift(middle, low, high), "samples", (first.size, second.size), 0.95)


def _reach(series: Array, middle: float) -> tuple[float, float] | None:
    """Return how far the median's interval goes down and up, on the logarithmic scale."""
    found = quantile_interval(series, 0.5)
    if found is None or found.low <= 0:
        return None
    return max(middle - math.log(found.low), 0.0), max(math.log(found.high) - middle, 0.0)


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
