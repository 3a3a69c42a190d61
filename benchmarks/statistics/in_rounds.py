"""A comparison in rounds as ``bench --compare`` ends it: at the first look that decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from enginescope.judge.comparison.looks import EARLY_LOOK, LOOK_CONFIDENCE, LOOKS
from enginescope.judge.comparison.ratio import decide, ratio_of_rounds
from enginescope.judge.verdict import RatioEstimate, VerdictKind

DIFFERENT = (VerdictKind.FASTER, VerdictKind.SLOWER)


class Ended(NamedTuple):
    """The last look of a comparison.

    Attributes:
    ----------
    kind : VerdictKind
    rounds : int
        After which it ended.
    looks : tuple of RatioEstimate
        The estimate at each look that was taken.
    """

    kind: VerdictKind
    rounds: int
    looks: tuple[RatioEstimate, ...]

    def covers(self, ratio: float) -> bool:
        """Whether the interval at the end holds the true ratio."""
        interval = self.looks[-1].interval
        return interval is not None and interval.low <= ratio <= interval.high

    def always_covered(self, ratio: float) -> bool:
        """Whether the interval of every look did."""
        given = [one.interval for one in self.looks]
        return all(one is not None and one.low <= ratio <= one.high for one in given)


@dataclass(frozen=True)
class Schedule:
    """When to look, and how sure to be each time."""

    looks: tuple[int, ...] = LOOKS
    confidence: float = LOOK_CONFIDENCE

    def __str__(self) -> str:
        """Return it for a table."""
        return f"{', '.join(map(str, self.looks))} at {100 * self.confidence:g} %"


def compare_in_rounds(
    a: Sequence[float] | np.ndarray,
    b: Sequence[float] | np.ndarray,
    schedule: Schedule = Schedule(),
    *,
    threshold_pct: float = 1.0,
) -> Ended:
    """Compare medians of processes, round by round, as far as the looks go.

    Parameters
    ----------
    a, b : sequence of float
        At least as many as the last look wants; those after the deciding look are not used.
    """
    looks: list[RatioEstimate] = []
    kind, rounds = VerdictKind.INCONCLUSIVE, 0
    for rounds in range(EARLY_LOOK, schedule.looks[0]):
        early = ratio_of_rounds(a[:rounds], b[:rounds], confidence=LOOK_CONFIDENCE)
        if early.interval is not None:
            return Ended(decide(early, threshold_pct)[0], rounds, (early,))
    for rounds in schedule.looks:
        looks.append(ratio_of_rounds(a[:rounds], b[:rounds], confidence=schedule.confidence))
        kind = decide(looks[-1], threshold_pct)[0]
        if kind is not VerdictKind.INCONCLUSIVE:
            break
    return Ended(kind, rounds, tuple(looks))
