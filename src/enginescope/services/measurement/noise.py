"""Measure a model against itself: the smallest difference that this machine can detect."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.errors import EnginescopeError
from enginescope.core.record import Record, replace
from enginescope.judge.experiment import Ended
from enginescope.services.measurement.interleaved import check_rounds, paced_workload
from enginescope.services.measurement.jobs import held_clocks, jobs_of
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import (
    InterleavedRequest,
    InterleavedResult,
    run_rounds,
    successful,
)
from enginescope.services.own_command import stored_fields
from enginescope.services.store_access import writable_store

if TYPE_CHECKING:
    from enginescope.records.run.job import Limits, Workload
    from enginescope.records.verdict.noise_floor import NoiseFloor


class NoiseResult(Record, frozen=True, kw_only=True):
    """Result of a noise measurement.

    Attributes:
        floor: `None`: no process succeeded.
        recorded: File that has the floor now.
        not_recorded: Why the floor is not recorded.
    """

    measured: InterleavedResult
    floor: NoiseFloor | None = None
    recorded: Path | None = None
    not_recorded: str | None = None


def measure_noise(request: InterleavedRequest, observer: MeasurementObserver) -> NoiseResult:
    """Measure the first job of `request` against itself, and record the noise floor.

    Without a model, the first bundled sample is measured. Layers are not timed.

    Raises:
        UsageError, MissingDependencyError, StoreError: As `compare_interleaved`; also if too few
            rounds count for an interval.
    """
    from enginescope.analysis.verdicts.noise_floor import check_floor
    from enginescope.analysis.verdicts.noise_floor import noise_floor as floor_of
    from enginescope.judge.comparison.ratio import FLOOR_ROUNDS
    from enginescope.store.machine_records import FLOORS

    check_rounds(request.rounds)
    store = writable_store(request.store)
    job = jobs_of(replace(request, layer_profile=False), store)[0]
    looks = (request.rounds or FLOOR_ROUNDS,)
    with held_clocks((job,), request, observer):
        measured = run_rounds((job, job), looks, request.terms, request, store, observer)
    if measured.comparison is None:
        return NoiseResult(measured=measured)
    if measured.ended is Ended.INTERRUPTED:
        return NoiseResult(measured=measured, not_recorded="the noise floor is not recorded")
    floor = floor_of(measured.sides)
    try:
        check_floor(floor)
        recorded = FLOORS.record(store.path, floor)
    except EnginescopeError as error:
        reason = f"the noise floor is not recorded: {error}; {error.hint}"
        return NoiseResult(measured=measured, floor=floor, not_recorded=reason)
    return NoiseResult(measured=measured, floor=floor, recorded=recorded)


def noise_floor(
    model: str | PathLike[str] | None = None,
    *,
    on: str | None = None,
    workload: Workload | None = None,
    limits: Limits | None = None,
    rounds: int | None = None,
    tags: Sequence[str] = (),
    store: str | PathLike[str] | None = None,
) -> NoiseFloor:
    """Measure a model against itself: the smallest difference that this machine can detect.

    The floor is recorded in the store, where `compare` and `bench_interleaved` find it. A floor
    that would tell nothing is not recorded, and a warning says so.

    Args:
        model: By default a small sample.
        on, workload, limits, rounds, tags, store: As for `bench_interleaved`.

    Raises:
        UsageError, BackendError: As `bench_interleaved`; also where too few rounds count for an
            interval.
    """
    observer = MeasurementObserver()
    request = InterleavedRequest(
        models=(Path(model),) if model is not None else (),
        backends=(on,) if on else (),
        workload=paced_workload(workload),
        limits=limits,
        rounds=rounds,
        **stored_fields(tags, store),
    )
    result = measure_noise(request, observer)
    successful(result.measured)
    assert result.floor is not None
    if result.not_recorded is not None:
        observer.warn(result.not_recorded)
    return result.floor
