"""Measuring in turn from Python: which of several jobs is faster, and what a machine can tell."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from enginescope.core.errors import BackendError
from enginescope.measured_runs import floors_at, named_sides, store_at
from enginescope.model.job import StopRule, Workload
from enginescope.shown_verdicts import ShownVerdicts

if TYPE_CHECKING:
    from enginescope.analysis.measured_sides import MeasuredComparison, MeasuredSide
    from enginescope.model.job import Job, Limits
    from enginescope.model.noise_floor import NoiseFloor
    from enginescope.model.run import Run
    from enginescope.runner.interleaved import Sides
    from enginescope.store.archive import Store


def bench_in_turn(
    *models: str | PathLike[str],
    on: str | Sequence[str] = "ort-cpu",
    workload: Workload | None = None,
    limits: Limits | None = None,
    rounds: int | None = None,
    threshold_pct: float = 1.0,
    across: Sequence[str] = (),
    tags: Sequence[str] = (),
    store: str | PathLike[str] | None = None,
) -> ShownVerdicts:
    """Measure jobs in turn, in fresh processes, until it is decided which is faster.

    What ``bench A B --compare`` does: rounds in random order, so that drift and what processes
    differ by meet all sides alike.

    Parameters
    ----------
    *models : path
        ONNX models or engines.
    on : str or sequence of str
        Backends; every model on each is a side, the first being the base.
    workload : Workload, optional
        By default a process is timed for a second; its stop rule holds for each process.
    limits : Limits, optional
        Of each process.
    rounds : int, optional
        At most so many count; 60 by default.
    threshold_pct : float
        Smaller differences do not matter.
    across : sequence of str
        Conditions whose difference is meant.
    tags : sequence of str
        Names for the runs in the store.
    store : path, optional
        Where the runs are kept, by default in the store that the command line uses.

    Returns
    -------
    ShownVerdicts
        As `compare` gives them.

    Raises
    ------
    UsageError
        Fewer than two sides, or a request that contradicts a model.
    BackendError
        No process of a side went well; the message says why.
    """
    from enginescope.analysis.measured_sides import compare_sides
    from enginescope.analysis.terms import Terms
    from enginescope.runner.interleaved import Pacing, looks_up_to, run_interleaved
    from enginescope.stats.deciding import LOOKS

    place = store_at(store)
    jobs = _jobs(models, [on] if isinstance(on, str) else on, workload, limits, place)
    terms = Terms(threshold_pct=threshold_pct, across=tuple(across))
    floors = floors_at(place)

    def found(sides: Sides) -> MeasuredComparison:
        return compare_sides(named_sides(sides), terms, floors)

    pacing = Pacing(
        decided=lambda sides: found(sides).is_decided,
        is_vain=lambda sides: found(sides).is_vain,
        looks=looks_up_to(rounds or LOOKS[-1]),
        seed=jobs[0].workload.seed,
    )
    command = shlex.join(sys.orig_argv)
    sides = run_interleaved(jobs, _keeper(place, tags), pacing, command=command)
    return ShownVerdicts.of(compare_sides(_measured(sides), terms, floors))


def noise_floor(
    model: str | PathLike[str] | None = None,
    *,
    on: str = "ort-cpu",
    workload: Workload | None = None,
    limits: Limits | None = None,
    rounds: int | None = None,
    store: str | PathLike[str] | None = None,
) -> NoiseFloor:
    """Measure a model against itself: the smallest difference that this machine can decide.

    The floor is recorded in the store, where `compare` and `bench_in_turn` find it.

    Parameters
    ----------
    model : path, optional
        By default a small sample.
    on, workload, limits, rounds, store
        As for `bench_in_turn`.

    Raises
    ------
    UsageError, BackendError
        As `bench_in_turn`; also where too few rounds count for an interval.
    """
    from enginescope.analysis.noise_floor import noise_floor as floor_of
    from enginescope.runner.interleaved import Pacing, run_interleaved
    from enginescope.runner.sample_models import sample_models
    from enginescope.stats.deciding import FLOOR_ROUNDS
    from enginescope.store.noise_floors import record_floor

    place = store_at(store)
    subject = model or sample_models(place.path / "samples")[0]
    (job,) = _jobs([subject], [on], workload, limits, place)
    pacing = Pacing(looks=(rounds or FLOOR_ROUNDS,), seed=job.workload.seed)
    command = shlex.join(sys.orig_argv)
    sides = run_interleaved((job, job), _keeper(place, ()), pacing, command=command)
    floor = floor_of(_measured(sides))
    record_floor(place.path, floor)
    return floor


def _jobs(
    models: Sequence[str | PathLike[str]],
    on: Sequence[str],
    workload: Workload | None,
    limits: Limits | None,
    store: Store,
) -> tuple[Job, ...]:
    from enginescope.runner.interleaved import PROCESS_STOP
    from enginescope.runner.jobs import make_jobs

    given = workload or Workload()
    if given.stop == StopRule():
        given = replace(given, stop=PROCESS_STOP)
    return make_jobs(
        [Path(one) for one in models],
        on,
        given,
        limits=limits,
        layer_profile=False,
        engine_cache=store.path / "engines",
    )


def _keeper(store: Store, tags: Sequence[str]) -> Callable[[Run], None]:
    """Return what stores each run as it ends, under the tag of its comparison."""
    from enginescope.render.side_names import comparison_tag

    def keep(run: Run) -> None:
        of = [comparison_tag(run.turn.comparison)] if run.turn else []
        store.save(run, tags=(*tags, *of))

    return keep


def _measured(sides: Sides) -> tuple[MeasuredSide, ...]:
    """Return the sides, each with a process that went well.

    Raises
    ------
    BackendError
        One has none.
    """
    named = named_sides(sides)
    for one in named:
        if not one.measured:
            outcome = one.runs[-1].outcome
            raise BackendError(
                f"{one.name}: {outcome.kind.value}", why=outcome.message, hint=outcome.hint
            )
    return named
