"""Histogram bins with round edges for the amounts of a plan's layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from enginescope.core.record import Record

#: A wider range than this ratio gets logarithmic bins. With `_FEWEST_BINS`, the first bin of equal
#: width then begins above 0.
_MOST_EVEN_RATIO = 7.0
_FEWEST_BINS = 8
#: Preferred numbers within a decade, coarse to fine (ISO 3's R5 and R10, rounded). Their ratios are
#: nearly equal: unequal ones would show as a comb in an even distribution.
_DECADES = (
    (1.0,),
    (1.0, 1.6, 2.5, 4.0, 6.3),
    (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0),
)
#: Steps within a power of two, coarse to fine.
_OCTAVES = ((1.0,), (1.0, 1.41))


class AmountBin(Record, frozen=True, kw_only=True):
    """Values of at least `low` and below `high`; both are 0 for the values that are exactly 0.

    Attributes:
        total: Sum of the values.
    """

    low: float
    high: float
    count: int
    total: float


def is_even_range(values: Sequence[float]) -> bool:
    """Whether `amount_bins` gives the positive `values` bins of one width, not of one ratio."""
    positive = [value for value in values if value > 0]
    return not positive or max(positive) <= _MOST_EVEN_RATIO * min(positive)


def amount_bins(values: Sequence[float], *, binary: bool = False) -> tuple[AmountBin, ...]:
    """Return non-negative `values` in bins that cover their range; empty bins too.

    Values within a factor of 7 get at least 8 bins of one width. Others get logarithmic bins: each
    is wider than the bin before it.

    Args:
        binary: Edges are binary numbers, for bytes; else round decimal numbers.
    """
    positive = sorted(value for value in values if value > 0)
    zeros = len(values) - len(positive)
    bins = [AmountBin(low=0.0, high=0.0, count=zeros, total=0.0)] if zeros else []
    if not positive:
        return tuple(bins)
    edges_of = _even_edges if is_even_range(positive) else _log_edges
    edges = edges_of(positive[0], positive[-1], 2.0 if binary else 10.0)
    at = 0
    for low, high in pairwise(edges):
        start = at
        while at < len(positive) and positive[at] < high:
            at += 1
        inside = positive[start:at]
        bins.append(AmountBin(low=low, high=high, count=len(inside), total=sum(inside)))
    return tuple(bins)


def _even_edges(least: float, greatest: float, base: float) -> list[float]:
    """Return multiples of the largest round step that gives the fewest bins or more."""
    finest = max((greatest - least) / (3 * _FEWEST_BINS), greatest * 1e-6)
    power = math.floor(math.log(finest, base))
    steps = [
        _round(step, base, power + more)
        for more in range(8)
        for step in ((1.0,) if base == 2 else (1.0, 2.0, 5.0))
    ]
    edges: list[float] = []
    for step in steps:
        first, last = math.floor(least / step), math.floor(greatest / step) + 1
        if edges and last - first < _FEWEST_BINS:
            break
        edges = [float(f"{number * step:.12g}") for number in range(first - 1, last + 2)]
    low = max(edge for edge in edges if edge <= least)
    high = min(edge for edge in edges if edge > greatest)
    return [edge for edge in edges if low <= edge <= high]


def _log_edges(least: float, greatest: float, base: float) -> list[float]:
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
