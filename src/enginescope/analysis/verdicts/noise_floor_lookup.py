"""The recorded noise floor that holds for a comparison, and what it lets it decide."""

from __future__ import annotations

import math
from collections.abc import Sequence

from enginescope.records.run.run import Run
from enginescope.records.verdict.noise_floor import NoiseFloor
from enginescope.records.verdict.verdict import RatioEstimate
from enginescope.stats.comparison.deciding import LOOKS


def fitting_floor(
    sides: Sequence[Sequence[Run]], floors: Sequence[NoiseFloor]
) -> NoiseFloor | None:
    """Return the floor of the machine and backend that `sides` ran on.

    Of several models the one that was compared, else the noisiest; of sides with floors of their
    own the noisier. ``None`` where a side has none, or the sides ran on more than one machine.
    """
    runs = [run for side in sides for run in side]
    machines = {run.environment.comparable_key() for run in runs}
    if len(machines) != 1:
        return None
    here = [floor for floor in floors if floor.environment in machines]
    found = [_of_side(side, here) for side in sides]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    return max(known, key=lambda one: one.scatter_pct)


def _of_side(runs: Sequence[Run], floors: Sequence[NoiseFloor]) -> NoiseFloor | None:
    job = runs[0].job
    fitting = [floor for floor in floors if floor.backend == job.backend.name]
    same = [one for one in fitting if one.model == job.subject.name]
    return max(same or fitting, key=lambda one: one.scatter_pct, default=None)


def floor_pct(floor: NoiseFloor, estimate: RatioEstimate) -> float | None:
    """Return the smallest difference in percent that a comparison of this kind can decide.

    Of processes in turn: with as many rounds as the default takes at most. Of others: what is left
    of their scatter with so many of them.
    """
    if estimate.method == "rounds":
        full = [one.difference_pct for one in floor.decidable if one.rounds == LOOKS[-1]]
        return full[0] if full else None
    count = 1 if estimate.method == "samples" else min(estimate.n_a, estimate.n_b)
    apart = math.sqrt(2 / count) * math.log1p(floor.scatter_pct / 100)
    return 100 * math.expm1(apart)
