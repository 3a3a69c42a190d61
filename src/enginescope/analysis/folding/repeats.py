"""Stretches of a sequence that repeat one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enginescope.core.record import Record

# Less is not worth a group.
_LEAST_SPARED = 3
_PERIODS_PER_LENGTH = 12
_LONGEST_PERIOD = 4096
# Bounds of the search in sequences that repeat everywhere a little.
_MOST_STRETCHES = 20_000
_ROUNDS = 3


class Run(Record, frozen=True, kw_only=True, gc=False):
    """`copies` equal stretches of `period` elements, from `start`."""

    start: int
    period: int
    copies: int

    @property
    def stop(self) -> int:
        """Where it ends."""
        return self.start + self.period * self.copies


def repeats(signature: Sequence[int], cut_widths: Sequence[int] | None = None) -> tuple[Run, ...]:
    """Return runs that do not overlap, in the sequence's order.

    The run that spares the most elements comes first, then the best of what is left beside it.
    Where a run could begin at several places, it begins where the least is cut.

    Parameters
    ----------
    signature : sequence of int
        Equal numbers for equal elements.
    cut_widths : sequence of int, optional
        One more than elements: what crosses the cut before each and after the last.
    """
    numbers = np.asarray(signature, dtype=np.int64)
    cuts = np.zeros(len(numbers) + 1, dtype=np.int64)
    if cut_widths is not None:
        cuts = np.asarray(cut_widths, dtype=np.int64)
    found: list[Run] = []
    for _ in range(_ROUNDS):
        fresh = _round(numbers, cuts)
        if not fresh:
            break
        found += fresh
        for run in fresh:
            # Each with a number of its own, so that no later run reaches over it.
            place = slice(run.start, run.stop)
            numbers[place] = -1 - np.arange(run.start, run.stop)
    return tuple(sorted(found, key=lambda one: one.start))


def _round(numbers: np.ndarray, cuts: np.ndarray) -> list[Run]:
    """Return the best runs that do not overlap each other as they were found."""
    stretches = [found for period in _periods(numbers) for found in _stretches(numbers, period)]
    stretches.sort(key=lambda one: (-one[0], one[1], one[2]))
    taken = np.zeros(len(numbers), dtype=bool)
    chosen = []
    for _, period, start, length in stretches[:_MOST_STRETCHES]:
        place = slice(start, start + length)
        if not taken[place].any():
            taken[place] = True
            chosen.append(_phased(start, period, length, cuts))
    return chosen


def _stretches(numbers: np.ndarray, period: int) -> list[tuple[int, int, int, int]]:
    """Return (elements spared, period, start, length) of where elements equal those before."""
    same = (numbers[:-period] == numbers[period:]).view(np.int8)
    edges = np.flatnonzero(np.diff(same, prepend=0, append=0)).reshape(-1, 2)
    lengths = edges[:, 1] - edges[:, 0] + period
    spared = (lengths // period - 1) * period
    keep = spared >= _LEAST_SPARED
    columns = spared[keep], edges[keep, 0], lengths[keep]
    return [(a, period, b, c) for a, b, c in zip(*(one.tolist() for one in columns), strict=True)]


def _phased(start: int, period: int, length: int, cuts: np.ndarray) -> Run:
    copies = length // period
    borders = np.arange(copies + 1) * period
    shifts = range(start, start + length - copies * period + 1)
    first = min(shifts, key=lambda shift: (int(cuts[borders + shift].sum()), shift))
    return Run(start=first, period=period, copies=copies)


def _periods(numbers: np.ndarray) -> list[int]:
    """Return distances at which stretches of 1, 2, 4 … elements come again, the frequent ones."""
    count = len(numbers)
    found: set[int] = set()
    ranks, length = np.unique(numbers, return_inverse=True)[1].astype(np.int64), 1
    while len(ranks) > 1:
        order = np.argsort(ranks, kind="stable")
        gaps = np.diff(order)[np.diff(ranks[order]) == 0]
        gaps = gaps[gaps <= min(count // 2, _LONGEST_PERIOD)]
        if not len(gaps):
            break
        often = np.bincount(gaps)
        top = np.argsort(-often, kind="stable")[:_PERIODS_PER_LENGTH]
        found.update(top[often[top] > 0].tolist())
        pairs = ranks[:-length] * (int(ranks.max()) + 1) + ranks[length:]
        ranks, length = np.unique(pairs, return_inverse=True)[1].astype(np.int64), 2 * length
    return sorted(found)
