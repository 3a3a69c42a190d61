"""A machine's noise from a model measured against itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from enginescope.analysis.verdicts.measured_sides import MeasuredSide, comparison_of
from enginescope.core.errors import UsageError
from enginescope.judge.comparison.noise import scatter_of, smallest_difference
from enginescope.judge.comparison.ratio import LOOKS
from enginescope.judge.comparison.steady_rounds import steady_rounds, uncertainty_pct
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array
from enginescope.records.notice import most_severe
from enginescope.records.run.run import Run
from enginescope.records.verdict.noise_floor import Decidable, NoiseFloor

#: Times for which is said what they can decide, in seconds.
TIMES_S = (60.0, 120.0, 300.0, 900.0)
#: A floor above this is of a disturbed machine: differences of half are plain to see.
MOST_FLOOR_PCT = 50.0
#: Notices on what passes by: a floor measured meanwhile says little of the machine without it.
_DISTURBANCES = ("W-LOAD", "W-STEAL", "W-CPU-QUOTA", "W-GPU-SHARED", "W-THROTTLED")


def noise_floor(sides: Sequence[MeasuredSide]) -> NoiseFloor:
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
    return NoiseFloor(
        environment=first.environment.comparable_key(),
        backend=first.job.backend.name,
        model=first.job.subject.name,
        created=first.created,
        comparison=comparison,
        rounds=len(pairs),
        round_s=round_s,
        scatter_pct=100 * math.expm1(scatter_of([one for pair in pairs for one in pair])),
        within_pct=_within_pct(runs),
        decidable=tuple(_decidable(differences, rounds, round_s) for rounds in _asked(round_s)),
        other_cores=_other_cores(runs),
        notices=disturbance_notices(runs),
    )


def check_floor(floor: NoiseFloor) -> None:
    """Raise unless a floor tells something, so that it may be recorded."""
    usual = next((one for one in floor.decidable if one.rounds == LOOKS[-1]), None)
    least = usual.difference_pct if usual is not None else None
    if least is None or least > MOST_FLOOR_PCT:
        smallest = (
            "no difference" if least is None else f"only a difference of {least:.0f} % or more"
        )
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
    """Return the samples of either side, of rounds that both have."""
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


def _within_pct(runs: Sequence[Run]) -> float | None:
    """Return the half-width of a process's own interval, that of the middle process."""
    series = [run.headline.values_ms for run in runs if run.headline is not None]
    widths = [uncertainty_pct(one) for one in series]
    known = [width for width in widths if width is not None]
    return float(np.median(known)) if known else None


def _other_cores(runs: Sequence[Run]) -> float | None:
    """Return what other work kept busy, in the middle process."""
    known = [run.other_load_cores for run in runs if run.other_load_cores is not None]
    return float(np.median(known)) if known else None


def disturbance_notices(runs: Sequence[Run]) -> tuple[Notice, ...]:
    """Return the gravest notice of each disturbance that half of the processes or more had."""
    found = []
    for code in _DISTURBANCES:
        had = [[notice for notice in run.notices if notice.code == code] for run in runs]
        if 2 * sum(map(bool, had)) >= len(runs):
            found.append(most_severe([one for some in had for one in some]))
    return tuple(found)


def _asked(round_s: float) -> list[int]:
    """Return rounds: those that fit into `TIMES_S`, and those of the default."""
    return sorted({LOOKS[-1], *(max(1, int(time / round_s)) for time in TIMES_S)})


def _decidable(differences: Sequence[float], rounds: int, round_s: float) -> Decidable:
    least = smallest_difference(differences, rounds)
    return Decidable(
        duration_s=rounds * round_s,
        rounds=rounds,
        difference_pct=None if least is None else 100 * math.expm1(least),
    )
