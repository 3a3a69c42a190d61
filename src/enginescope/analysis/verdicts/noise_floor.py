"""A machine's noise and detection curve, from a model compared with itself."""

import math
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.measured_sides import MeasuredSide, compare_sides, comparison_of
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.judge.comparison.detection import DRAWS, DrawnComparisons, share_interval
from enginescope.judge.comparison.looks import LOOKS, looks_up_to
from enginescope.judge.comparison.run_to_run import scatter_of, smallest_difference
from enginescope.judge.comparison.steady_rounds import steady_rounds, uncertainty_pct
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array
from enginescope.judge.verdict import VerdictKind
from enginescope.records.notice import most_severe
from enginescope.records.run.run import Run
from enginescope.records.verdict import noise

#: Times for which is said what they can decide, in seconds.
TIMES_S = (60.0, 120.0, 300.0, 900.0)
#: A floor above this is of a disturbed machine: differences of half are plain to see.
MOST_FLOOR_PCT = 50.0
#: Notices on what passes by: a floor measured meanwhile says little of the machine without it.
DISTURBANCES = ("W-LOAD", "W-STEAL", "W-CPU-QUOTA", "W-GPU-SHARED", "W-THROTTLED")


def noise_floor(sides: Sequence[MeasuredSide]) -> noise.NoiseFloor:
    """Return what two sides of one job, interleaved, say of the machine.

    Args:
        sides: Two, of the same job.
    """
    comparison = comparison_of(sides)
    measured = _rounds(sides)
    pairs = counted_medians(sides)
    if comparison is None or len(pairs) < LOOKS[0]:
        raise UsageError(
            f"{len(pairs)} of {len(measured)} rounds count",
            why=f"{LOOKS[0]} are the fewest that show run-to-run variation",
            hint="measure again when the machine is idle, or with more --rounds",
        )
    first = sides[0].measured[0]
    differences = [math.log(b / a) for a, b in pairs]
    round_s = middle_round_s(sides) * len(measured) / len(pairs)
    runs = [run for side in sides for run in side.measured]
    every = (uncertainty_pct(run.headline.values_ms) for run in runs if run.headline is not None)
    within = [width for width in every if width is not None]
    others = [run.other_load_cores for run in runs if run.other_load_cores is not None]
    asked = {LOOKS[-1], *(max(1, int(time / round_s)) for time in TIMES_S)}
    return noise.NoiseFloor(
        environment=first.environment.comparable_key(),
        backend=first.job.backend.name,
        model=first.job.subject.name,
        created=first.created,
        comparison=comparison,
        rounds=len(pairs),
        round_s=round_s,
        scatter_pct=100 * math.expm1(scatter_of([one for pair in pairs for one in pair])),
        within_pct=float(np.median(within)) if within else None,
        decidable=tuple(_decidable(differences, rounds, round_s) for rounds in sorted(asked)),
        other_cores=float(np.median(others)) if others else None,
        notices=disturbance_notices(runs),
    )


def check_floor(floor: noise.NoiseFloor) -> None:
    """Raise unless a floor tells something, so that it may be recorded."""
    usual = next((one for one in floor.decidable if one.rounds == LOOKS[-1]), None)
    least = usual.difference_pct if usual is not None else None
    if least is None or least > MOST_FLOOR_PCT:
        smallest = f"only a difference of {least:.0f} % or more" if least else "no difference"
        raise UsageError(
            f"its {floor.rounds} rounds vary so much that {LOOKS[-1]} rounds detect {smallest}",
            why=f"above {MOST_FLOOR_PCT:g} % the machine was disturbed, and the floor is useless",
            hint="measure again when the machine is idle, with more --rounds",
        )


def counted_medians(sides: Sequence[MeasuredSide]) -> list[tuple[float, float]]:
    """Return the medians of both sides, in ms, of each round that counts."""
    measured = _rounds(sides)
    steady = steady_rounds([[uncertainty_pct(pair[at]) for pair in measured] for at in (0, 1)])
    return [
        (float(np.median(a)), float(np.median(b)))
        for (a, b), counts in zip(measured, steady, strict=True)
        if counts
    ]


def _rounds(sides: Sequence[MeasuredSide]) -> list[tuple[Array, Array]]:
    by_round = [
        {
            run.turn.round: run.headline.values_ms
            for run in side.measured
            if run.turn is not None and run.headline is not None
        }
        for side in sides
    ]
    shared = sorted(by_round[0].keys() & by_round[1].keys())
    return [(by_round[0][one], by_round[1][one]) for one in shared]


def middle_round_s(sides: Sequence[MeasuredSide]) -> float:
    """Return how long the middle round took, from its first start to the next round's."""
    starts: dict[int, float] = {}
    for run in (run for side in sides for run in side.runs):
        if run.turn is not None:
            begun = datetime.fromisoformat(run.created).timestamp()
            starts[run.turn.round] = min(begun, starts.get(run.turn.round, begun))
    return float(np.median(np.diff([starts[start] for start in sorted(starts)])))


def disturbance_notices(runs: Sequence[Run]) -> tuple[Notice, ...]:
    """Return the gravest notice of each disturbance that half of the processes or more had."""
    found = []
    for code in DISTURBANCES:
        had = [[notice for notice in run.notices if notice.code == code] for run in runs]
        if 2 * sum(map(bool, had)) >= len(runs):
            found.append(most_severe([one for some in had for one in some]))
    return tuple(found)


def _decidable(differences: Sequence[float], rounds: int, round_s: float) -> noise.Decidable:
    least = smallest_difference(differences, rounds)
    return noise.Decidable(
        duration_s=rounds * round_s,
        rounds=rounds,
        difference_pct=None if least is None else 100 * math.expm1(least),
    )


#: With fewer rounds, intervals of the curve are too narrow: ``benchmarks/statistics/self_test.py``.
ENOUGH_ROUNDS = 16


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
) -> noise.SelfTest:
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
    # comparisons of a single round say nothing of its time
    rounds_s = [middle_round_s(one.sides) for one in measured if len(one.sides[0].runs) > 1]
    short = []
    if len(medians) < ENOUGH_ROUNDS:
        message = f"only {len(medians)} measured rounds count, so the intervals are too narrow"
        evidence = {"counted": len(medians), "enough": ENOUGH_ROUNDS}
        message += "; test with more time"
        short = [Notice("W-SHORT-SELF-TEST", message, evidence)]
    return noise.SelfTest(
        environment=first.environment.comparable_key(),
        backend=first.job.backend.name,
        model=first.job.subject.name,
        created=first.created,
        rounds=rounds,
        threshold_pct=threshold_pct,
        duration_s=duration_s,
        round_s=float(np.median(rounds_s)) * every / len(medians),
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
        notices=(*short, *disturbance_notices(runs)),
    )


def _comparison(same: SameSides, threshold_pct: float) -> noise.SameComparison:
    compared = compare_sides(same.sides, CompareConfig(threshold_pct=threshold_pct))
    verdict = compared.pairs[0].headline
    return noise.SameComparison(
        comparison=comparison_of(same.sides) or "",
        most=same.most,
        rounds=max(len(side.runs) for side in same.sides),
        kind=None if same.is_late else verdict.kind,
        ratio=verdict.estimate.ratio if verdict.estimate else None,
    )


def _curve(drawn: DrawnComparisons, smallest_pct: float) -> tuple[noise.Detection, ...]:
    """Return what the comparisons find, from no difference to one that nearly all of them find."""
    planted = [0.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    if math.isfinite(smallest_pct):
        multiples = (0.25, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0)
        around = [float(f"{smallest_pct * multiple:.2g}") for multiple in multiples]
        planted = sorted({0.0, smallest_pct, *around})
    shares = drawn.shares(planted)
    return tuple(
        noise.Detection(
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
