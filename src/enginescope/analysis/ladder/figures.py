"""The figure of a rung in the run of one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from enginescope.analysis.claims.layer_time import layer_times
from enginescope.judge.comparison.steady_rounds import disturbances
from enginescope.records.run.rounds import uncertainty_of, whole_rounds
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

    A round with a process that failed does not count. Of a process that was measured again, the
    last attempt counts.
    """
    rows = [row for row in whole_rounds(sides) if all(map(_is_ok, row))]
    known = [[uncertainty_of(row[side]) for row in rows] for side in range(len(sides))]
    counts = disturbances(known).counts
    numbers = (row[0].turn.round for row in rows if row[0].turn)
    return tuple(number for number, does in zip(numbers, counts, strict=True) if does)


def _is_ok(run: Run) -> bool:
    return run.outcome.kind is OutcomeKind.OK
