"""The figure of a rung in the run of one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from enginescope.analysis.claims.layer_time import layer_times
from enginescope.judge.comparison.steady_rounds import disturbances
from enginescope.records.run.rounds import uncertainty_of
from enginescope.records.run.run import OutcomeKind, Run

#: Reads a figure in ms; ``None``: the run has none.
Reader = Callable[[Run], float | None]


def median_of(metric: str) -> Reader:
    """Return a reader of the median of a metric."""

    def read(run: Run) -> float | None:
        samples = run.series(metric)
        return float(np.median(samples.values_ms)) if samples is not None and len(samples) else None

    return read


def graph_compute(run: Run) -> float | None:
    """Return the median GPU compute time of a run that launched a CUDA graph."""
    return median_of("gpu_compute")(run) if run.job.workload.mode.cuda_graph else None


def layer_sum(run: Run) -> float | None:
    """Return the sum of the layers' times: their own times where they were gated.

    ``None`` for times of a host that enqueues layers of a GPU.
    """
    if run.profile is None or run.profile.mode == "host":
        return None
    return layer_times(run.profile).sum_ms


def period(run: Run) -> float | None:
    """Return the time per query where several are in flight."""
    headline = run.headline
    if not run.wall_ms or headline is None or not len(headline):
        return None
    return run.wall_ms / len(headline)


def counting_rounds(sides: Sequence[Sequence[Run]]) -> tuple[int, ...]:
    """Return the rounds in which no process was disturbed, as `disturbances` has it.

    A round with a process that failed does not count.
    """
    by_round: list[Mapping[int, Run]] = [
        {run.turn.round: run for run in runs if run.turn and run.outcome.kind is OutcomeKind.OK}
        for runs in sides
    ]
    rounds = sorted(set.intersection(*(set(runs) for runs in by_round))) if by_round else []
    known = [[uncertainty_of(runs[number]) for number in rounds] for runs in by_round]
    counts = disturbances(known).counts
    return tuple(number for number, does in zip(rounds, counts, strict=True) if does)
