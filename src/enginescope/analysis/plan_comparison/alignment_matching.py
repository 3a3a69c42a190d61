"""The state of an alignment while it is made: groups so far, and what is still free."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from enginescope.analysis.plan_comparison.alignment_side import Side
from enginescope.records.plan.layer_pair import Evidence


@dataclass
class Group:
    """Positions of either side that do the same work."""

    a: list[int]
    b: list[int]
    evidence: Evidence
    score: float


class Matching:
    """Groups of positions; each position is in one at most.

    Attributes:
        of_a, of_b: Number of each position's group; −1 while it has none.
    """

    def __init__(self, a: Side, b: Side) -> None:
        self.a = a
        self.b = b
        self.groups: list[Group] = []
        self.of_a = [-1] * len(a)
        self.of_b = [-1] * len(b)

    def add(self, a: Iterable[int], b: Iterable[int], evidence: Evidence, score: float) -> None:
        """Make a group of positions that have none."""
        group = Group(sorted(a), sorted(b), evidence, score)
        for one in group.a:
            self.of_a[one] = len(self.groups)
        for one in group.b:
            self.of_b[one] = len(self.groups)
        self.groups.append(group)

    def free_a(self) -> list[int]:
        """Return the positions of A without a group."""
        return [one for one, group in enumerate(self.of_a) if group < 0]

    def free_b(self) -> list[int]:
        """Return the positions of B without a group."""
        return [one for one, group in enumerate(self.of_b) if group < 0]

    def backbone(self) -> list[tuple[int, int]]:
        """Return the longest run of groups that both plans have in the same order.

        Each as its first position on either side; O(n log n).
        """
        starts = sorted((group.a[0], group.b[0]) for group in self.groups)
        return _longest_rising(starts)


def _longest_rising(starts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    ends: list[int] = []
    ends_at: list[int] = []
    before = [-1] * len(starts)
    for number, (_, b) in enumerate(starts):
        length = bisect_left(ends, b)
        before[number] = ends_at[length - 1] if length else -1
        if length == len(ends):
            ends.append(b)
            ends_at.append(number)
        else:
            ends[length] = b
            ends_at[length] = number
    run = []
    number = ends_at[-1] if ends_at else -1
    while number >= 0:
        run.append(starts[number])
        number = before[number]
    return run[::-1]
