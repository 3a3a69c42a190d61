"""A machine's detection curve from comparisons of a model with itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.measured_sides import MeasuredSide, compare_sides, comparison_of
from enginescope.analysis.verdicts.noise_floor import (
    counted_medians,
    disturbance_notices,
    middle_round_s,
)
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.judge.comparison.detection import DRAWS, DrawnComparisons, share_interval
from enginescope.judge.comparison.looks import looks_up_to
from enginescope.judge.comparison.ratio import LOOKS
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import VerdictKind
from enginescope.records.verdict.self_test import Detection, SameComparison, SelfTest

#: With fewer rounds, intervals of the curve are too narrow: ``benchmarks/statistics/self_test.py``.
ENOUGH_ROUNDS = 16
#: Differences of the curve, as multiples of the smallest that is found often enough.
_MULTIPLES = (0.25, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0)
#: Differences of the curve where none is found often enough, in percent.
_COARSE_PCT = (5.0, 10.0, 20.0, 50.0, 100.0)


class SameSides(Record, frozen=True, kw_only=True, eq=False):
    """Two interleaved sides of one job.

    Attributes:
        most: Its maximum of rounds.
        is_late: Whether the time was over before the comparison ended.
    """

    sides: tuple[MeasuredSide, ...]
    most: int
    is_late: bool


def self_test_of(
    measured: Sequence[SameSides], *, rounds: int, threshold_pct: float, duration_s: float
) -> SelfTest:
    """Return the detection curve of comparisons of at most `rounds` rounds.

    Args:
        measured: Comparisons of one job with itself.
        duration_s: Time that they took.
    """
    medians = [pair for same in measured for pair in counted_medians(same.sides)]
    every = sum(max(len(side.runs) for side in same.sides) for same in measured)
    if len(medians) < LOOKS[0]:
        raise UsageError(
            f"{len(medians)} of {every} rounds count",
            why=f"a comparison needs {LOOKS[0]}",
            hint="test again when the machine is idle, or with more time",
        )
    logs = np.log(np.array(medians))
    drawn = DrawnComparisons(logs[:, 1] - logs[:, 0], looks_up_to(rounds), threshold_pct)
    smallest = drawn.smallest()
    comparisons = tuple(_comparison(same, threshold_pct) for same in measured)
    runs = [run for same in measured for side in same.sides for run in side.measured]
    first = runs[0]
    ended = [one.kind for one in comparisons if one.kind is not None]
    false = sum(kind in (VerdictKind.FASTER, VerdictKind.SLOWER) for kind in ended)
    low, high = share_interval(false, len(ended)) if ended else (None, None)
    return SelfTest(
        environment=first.environment.comparable_key(),
        backend=first.job.backend.name,
        model=first.job.subject.name,
        created=first.created,
        rounds=rounds,
        threshold_pct=threshold_pct,
        duration_s=duration_s,
        round_s=_round_s(measured) * every / len(medians),
        comparisons=comparisons,
        ended=len(ended),
        false_verdicts=false,
        false_low_pct=None if low is None else 100 * low,
        false_high_pct=None if high is None else 100 * high,
        counted=len(medians),
        skipped=every - len(medians),
        drawn=DRAWS,
        curve=_curve(drawn, smallest.difference_pct),
        smallest_pct=_finite(smallest.difference_pct),
        smallest_low_pct=_finite(smallest.low_pct),
        smallest_high_pct=_finite(smallest.high_pct),
        notices=(*_few(len(medians)), *disturbance_notices(runs)),
    )


def _comparison(same: SameSides, threshold_pct: float) -> SameComparison:
    compared = compare_sides(same.sides, CompareConfig(threshold_pct=threshold_pct))
    verdict = compared.pairs[0].headline
    return SameComparison(
        comparison=comparison_of(same.sides) or "",
        most=same.most,
        rounds=max(len(side.runs) for side in same.sides),
        kind=None if same.is_late else verdict.kind,
        ratio=verdict.estimate.ratio if verdict.estimate else None,
    )


def _round_s(measured: Sequence[SameSides]) -> float:
    """Return the time of the middle round; comparisons of a single round say nothing of it."""
    known = [middle_round_s(one.sides) for one in measured if len(one.sides[0].runs) > 1]
    return float(np.median(known))


def _curve(drawn: DrawnComparisons, smallest_pct: float) -> tuple[Detection, ...]:
    """Return what the comparisons find, from no difference to one that nearly all of them find."""
    planted = [0.0, *_COARSE_PCT]
    if math.isfinite(smallest_pct):
        around = [float(f"{smallest_pct * multiple:.2g}") for multiple in _MULTIPLES]
        planted = sorted({0.0, smallest_pct, *around})
    shares = drawn.shares(planted)
    return tuple(
        Detection(
            difference_pct=difference,
            found_pct=100 * float(shares.found[at]),
            low_pct=100 * float(shares.low[at]),
            high_pct=100 * float(shares.high[at]),
            same_pct=100 * float(shares.same[at]),
            wrong_pct=100 * float(shares.wrong[at]),
            rounds=float(shares.rounds[at]),
        )
        for at, difference in enumerate(planted)
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _few(counted: int) -> list[Notice]:
    if counted >= ENOUGH_ROUNDS:
        return []
    return [
        Notice(
            code="W-SHORT-SELF-TEST",
            message=f"only {counted} measured rounds count, so the intervals are too narrow; "
            "test with more time",
            evidence={"counted": counted, "enough": ENOUGH_ROUNDS},
        )
    ]
