"""Amounts that span orders of magnitude, in bins with round edges."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from enginescope.core.record import Record

_FEWEST_BINS = 8
#: Preferred numbers within a decade, coarse to fine (ISO 3's R3, R5, R10, R20, rounded).
_DECADES = (
    (1.0, 2.0, 5.0),
    (1.0, 1.6, 2.5, 4.0, 6.3),
    (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0),
    tuple(round(1 + at / 20, 2) for at in range(20)) + tuple(2 + at / 10 for at in range(80)),
)
#: Steps within a power of two, coarse to fine.
_OCTAVES = ((1.0,), (1.0, 1.5), (1.0, 1.25, 1.5, 1.75))


class LogBin(Record, frozen=True, kw_only=True):
    """Values of at least `low` and below `high`; both are 0 for those that are exactly 0.

    Attributes
    ----------
    low, high : float
    count : int
    total : float
        Sum of the values.
    """

    low: float
    high: float
    count: int
    total: float


def log_bins(values: Sequence[float], *, binary: bool = False) -> tuple[LogBin, ...]:
    """Return non-negative `values` in bins whose width grows with the value; empty ones too.

    Parameters
    ----------
    values : sequence of float
    binary : bool
        Edges are powers of two, for bytes; else round decimal numbers.
    """
    positive = sorted(one for one in values if one > 0)
    zeros = len(values) - len(positive)
    bins = [LogBin(low=0.0, high=0.0, count=zeros, total=0.0)] if zeros else []
    if not positive:
        return tuple(bins)
    edges = _edges(positive[0], positive[-1], 2.0 if binary else 10.0)
    at = 0
    for low, high in pairwise(edges):
        start = at
        while at < len(positive) and positive[at] < high:
            at += 1
        inside = positive[start:at]
        bins.append(LogBin(low=low, high=high, count=len(inside), total=sum(inside)))
    return tuple(bins)


def _edges(least: float, greatest: float, base: float) -> list[float]:
    edges: list[float] = []
    for steps in _OCTAVES if base == 2 else _DECADES:
        edges = list(_covering(least, greatest, steps, base))
        if len(edges) > _FEWEST_BINS:
            break
    return edges


def _covering(
    least: float, greatest: float, steps: tuple[float, ...], base: float
) -> Iterator[float]:
    """Round numbers from the last that is at most `least` to the first above `greatest`."""
    power = math.floor(math.log(least, base))
    if base**power > least:  # the logarithm was rounded up
        power -= 1
    every = (_round(step, base, power + more) for more in range(400) for step in steps)
    before = next(every)
    for edge in every:
        if edge > least:
            yield before
        before = edge
        if edge > greatest:
            yield edge
            return


def _round(step: float, base: float, power: int) -> float:
    return step * base**power if base == 2 else float(f"{step:.6g}e{power}")
