"""Measure a model against itself: the smallest difference found, and how often one in vain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Annotated

from enginescope.analysis.verdicts.comparability import CompareConfig, check_pct
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.analysis.verdicts.noise_floor import (
    SameSides,
    check_floor,
    counted_medians,
    self_test_of,
)
from enginescope.analysis.verdicts.noise_floor import noise_floor as floor_of
from enginescope.core.errors import EnginescopeError
from enginescope.core.record import Record, copied, replace
from enginescope.judge.comparison.detection import MOST_ROUNDS
from enginescope.judge.comparison.looks import FLOOR_ROUNDS, LOOKS, THRESHOLD_PCT
from enginescope.judge.comparison.looks import MOST_ROUNDS as INTERLEAVED_ROUNDS
from enginescope.judge.experiment import Ended, Standing
from enginescope.records.run.job import Job
from enginescope.records.verdict.noise import NoiseFloor, SelfTest
from enginescope.services.declared import File, Param, python_function
from enginescope.services.measurement import jobs
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.recorded import Sides
from enginescope.services.measurement.rounds import (
    InterleavedResult,
    Pacing,
    keep_rounds,
    looks_up_to,
    run_rounds,
    successful,
)
from enginescope.services.store_access import writable_store
from enginescope.services.verdicts.compare_inputs import named_sides
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS, SELF_TESTS

#: Of a self-test.
MAX_TIME_S = 120.0


class _SampleRequest(jobs.StoredRequest, frozen=True):
    model: Annotated[File | None, Param("ONNX model or engine.", usual="a small sample")] = None

    def job_request(self) -> jobs.JobRequest:
        models = () if self.model is None else (Path(self.model),)
        return copied(jobs.JobRequest, self, models=models, layer_profile=False)


class NoiseRequest(_SampleRequest, frozen=True, kw_only=True):
    """A job to compare with itself once; without a model, the first bundled sample."""

    on: jobs.On = None
    rounds: Annotated[int, Param("Number of rounds.", least=LOOKS[0], most=INTERLEAVED_ROUNDS)] = (
        FLOOR_ROUNDS
    )
    continues: Annotated[bool, Param("Continue the newest measurement of the job.")] = False
    max_time_s: Annotated[
        float | None, Param("Maximum total time; measures fewer rounds if needed.", above=0)
    ] = None


class NoiseResult(Record, frozen=True, kw_only=True):
    """The noise floor, if a process succeeded, and the file that has it now, or why none has."""

    measured: InterleavedResult
    floor: NoiseFloor | None = None
    recorded: Path | None = None
    not_recorded: str | None = None


def measure_noise(request: NoiseRequest, observer: MeasurementObserver) -> NoiseResult:
    """Measure a job against itself, and record the noise floor. Layers are not timed.

    Raises as `compare_interleaved`; also `UsageError` if too few rounds count for an interval.
    """
    store = writable_store(request.store)
    job_request = request.job_request()
    job = jobs.jobs_of(job_request, store)[0]
    measured = run_rounds(
        (job, job), (request.rounds,), CompareConfig(), job_request, store, observer
    )
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


def _noise_floor(request: NoiseRequest, observer: MeasurementObserver) -> NoiseFloor:
    """Measure a model against itself: the smallest difference that this machine can detect.

    The floor is recorded in the store, where `compare` and `bench_interleaved` find it. A floor
    that would tell nothing is not recorded, and a warning says so.

    Returns:
        The floor; ``floor.decidable`` is the smallest difference.

    Raises:
        UsageError, BackendError: As `bench_interleaved`; also where too few rounds count for an
            interval.
    """
    request = replace(request, workload=paced_workload(request.workload))
    result = measure_noise(request, observer)
    successful(result.measured)
    assert result.floor is not None
    if result.not_recorded is not None:
        observer.warn(result.not_recorded)
    return result.floor


noise_floor = python_function("noise_floor", NoiseRequest, _noise_floor)

#: Comparisons to measure, however short: their verdicts are the only ones that nobody drew.
_FEW = 4
#: Measured rounds after which a machine on which hardly any round counts is given up.
_MOST_TRIED = 4 * LOOKS[0]


class SelfTestRequest(_SampleRequest, frozen=True, kw_only=True):
    """A job to compare with itself; without a model, the first bundled sample."""

    on: jobs.On = None
    rounds: Annotated[
        int, Param("Maximum number of rounds of a comparison.", least=LOOKS[0], most=MOST_ROUNDS)
    ] = LOOKS[-1]
    threshold_pct: Annotated[float, Param("Smaller differences do not matter.")] = THRESHOLD_PCT
    max_time_s: Annotated[float, Param("Maximum total time.", above=0)] = MAX_TIME_S


def run_self_test(request: SelfTestRequest, observer: MeasurementObserver) -> SelfTest:
    """Compare a job with itself until the time is over; record the detection curve in the store."""
    check_pct("threshold", request.threshold_pct, 100)
    store = writable_store(request.store)
    job = jobs.jobs_of(request.job_request(), store)[0]
    begin = perf_counter()
    test = self_test_of(
        list(_compared(job, request, store, observer)),
        rounds=request.rounds,
        threshold_pct=request.threshold_pct,
        duration_s=perf_counter() - begin,
    )
    recorded = replace(test, is_recorded=True)
    try:
        SELF_TESTS.record(store.path, recorded)
    except EnginescopeError as error:
        observer.warn(f"the self-test is not recorded: {error}")
        return test
    return recorded


def _compared(
    job: Job, request: SelfTestRequest, store: Store, observer: MeasurementObserver
) -> Iterator[SameSides]:
    """Yield comparisons of a job with itself until the time is over, which may cut off the last."""
    begin, terms = perf_counter(), CompareConfig(threshold_pct=request.threshold_pct)

    def stands(sides: Sides) -> Standing:
        is_final = compare_sides(named_sides(sides), terms).is_final
        return Standing.DECIDED if is_final else Standing.GO_ON

    number = measured = counted = 0
    is_over = False
    while not is_over:
        past, most = perf_counter() - begin, LOOKS[0]
        if number:  # so that `_FEW` of them fit into the time
            left = int((request.max_time_s - past) / past * measured)
            most = min(request.rounds, max(most, left // max(1, _FEW - number)))
        pacing = Pacing(
            looks=looks_up_to(most),
            seed=job.workload.seed + number,
            stands=stands,
            max_time_s=request.max_time_s - past,
            min_rounds=LOOKS[0] if counted < LOOKS[0] else 1,
        )
        measuring, ended = keep_rounds((job, job), pacing, request.job_request(), store, observer)
        sides = named_sides(measuring.sides)
        for side in sides:
            if not side.measured:
                jobs.raise_unless_ok(side.runs[-1])
        measured += len(measuring.experiment.whole_rows())
        counted += len(counted_medians(sides))
        is_cut = ended in (Ended.GIVEN_UP, Ended.LATE, Ended.INTERRUPTED)
        is_enough = counted >= LOOKS[0] or measured >= _MOST_TRIED
        next_s = (perf_counter() - begin) * (1 + 1 / measured) if is_enough else 0.0
        is_over = ended is Ended.GIVEN_UP or next_s > request.max_time_s
        yield SameSides(sides=sides, most=most, is_late=is_cut)
        number += 1


def _self_test(request: SelfTestRequest, observer: MeasurementObserver) -> SelfTest:
    """Measure how small a difference comparisons on this machine find, and how often in vain.

    A model is compared with itself, as ``bench --compare`` does it, again and again. The share of
    false verdicts of these comparisons is measured. The curve is of comparisons that are drawn from
    their rounds, with a planted difference. The result is recorded in the store, where `doctor`
    finds it. The maximum time is exceeded until 8 rounds count.

    Returns:
        ``test.smallest_pct`` is found in 95 of 100 drawn comparisons.

    Raises:
        UsageError: A request that contradicts itself or the model; or too few rounds count.
        UnsupportedError, BackendError: A process failed.
    """
    return run_self_test(replace(request, workload=paced_workload(request.workload)), observer)


self_test = python_function("self_test", SelfTestRequest, _self_test)
