"""Measure a model against itself: the smallest difference found, and how often one in vain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from enginescope.analysis.verdicts.comparability import THRESHOLD_PCT, CompareConfig, check_pct
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import Record, replace
from enginescope.judge.comparison.detection import MOST_ROUNDS
from enginescope.judge.comparison.ratio import LOOKS
from enginescope.judge.experiment import Ended, Standing
from enginescope.records.run.job import Job, Limits, Workload
from enginescope.records.verdict.noise import SelfTest
from enginescope.services.measurement.interleaved import check_rounds, paced_workload
from enginescope.services.measurement.jobs import JobRequest, held_clocks, jobs_of, raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import (
    InterleavedRequest,
    InterleavedResult,
    Pacing,
    Sides,
    keep_rounds,
    looks_up_to,
    run_rounds,
    successful,
)
from enginescope.services.store_access import stored_fields, writable_store
from enginescope.services.verdicts.compare_inputs import named_sides
from enginescope.store.archive import Store
from enginescope.store.machine_records import SELF_TESTS

if TYPE_CHECKING:
    from enginescope.analysis.verdicts.noise_floor import SameSides
    from enginescope.records.verdict.noise import NoiseFloor


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


MAX_TIME_S = 120.0
#: Comparisons to measure, however short: their verdicts are the only ones that nobody drew.
_FEW = 4
#: Measured rounds after which a machine on which hardly any round counts is given up.
_MOST_TRIED = 4 * LOOKS[0]


class SelfTestRequest(JobRequest, frozen=True, kw_only=True):
    """A job to compare with itself; without a model, the first bundled sample.

    Attributes:
        rounds: Maximum of a comparison, 8 to 120.
        threshold_pct: Smaller differences do not matter.
        max_time_s: Of all that is measured; exceeded until 8 rounds count.
    """

    rounds: int = LOOKS[-1]
    threshold_pct: float = THRESHOLD_PCT
    max_time_s: float = MAX_TIME_S


def run_self_test(request: SelfTestRequest, observer: MeasurementObserver) -> SelfTest:
    """Compare a job with itself until the time is over; record the detection curve in the store."""
    from enginescope.analysis.verdicts.noise_floor import self_test_of

    if not LOOKS[0] <= request.rounds <= MOST_ROUNDS:
        raise UsageError(f"rounds: {request.rounds} is not between {LOOKS[0]} and {MOST_ROUNDS}")
    if request.max_time_s <= 0:
        raise UsageError(f"max_time: {request.max_time_s:g} s is not above 0")
    check_pct("threshold", request.threshold_pct, 100)
    store = writable_store(request.store)
    job = jobs_of(replace(request, layer_profile=False), store)[0]
    begin = perf_counter()
    with held_clocks((job,), request, observer):
        measured = list(_Comparisons(job, request, store, observer).measured())
    test = self_test_of(
        measured,
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


class _Comparisons:
    """Comparisons of a job with itself, one after another until the time is over."""

    def __init__(
        self, job: Job, request: SelfTestRequest, store: Store, observer: MeasurementObserver
    ) -> None:
        self._job, self._request = job, request
        self._store, self._observer = store, observer
        self._begin = perf_counter()
        self._rounds = self._counted = 0
        self._is_late = False

    def measured(self) -> Iterator[SameSides]:
        """Yield each comparison; the last one may be cut off by the time."""
        from enginescope.analysis.verdicts.noise_floor import SameSides, counted_medians

        number = 0
        while not self._is_late:
            most = self._most(number)
            rounds, ended = keep_rounds(
                (self._job, self._job),
                self._pacing(number, most),
                self._request,
                self._store,
                self._observer,
            )
            sides = named_sides(rounds.sides)
            for side in sides:
                if not side.measured:
                    raise_unless_ok(side.runs[-1])
            self._rounds += len(rounds.experiment.whole_rounds())
            self._counted += len(counted_medians(sides))
            is_cut = ended in (Ended.GIVEN_UP, Ended.LATE, Ended.INTERRUPTED)
            is_enough = self._counted >= LOOKS[0] or self._rounds >= _MOST_TRIED
            past = perf_counter() - self._begin
            is_over = is_enough and past * (1 + 1 / self._rounds) > self._request.max_time_s
            self._is_late = ended is Ended.GIVEN_UP or is_over
            yield SameSides(sides=sides, most=most, is_late=is_cut)
            number += 1

    def _most(self, number: int) -> int:
        """Return the maximum rounds of a comparison, so that `_FEW` of them fit into the time."""
        if number == 0:
            return LOOKS[0]
        past = perf_counter() - self._begin
        left = int((self._request.max_time_s - past) / past * self._rounds)
        return min(self._request.rounds, max(LOOKS[0], left // max(1, _FEW - number)))

    def _pacing(self, number: int, most: int) -> Pacing:
        terms = CompareConfig(threshold_pct=self._request.threshold_pct)

        def stands(sides: Sides) -> Standing:
            is_final = compare_sides(named_sides(sides), terms).is_final
            return Standing.DECIDED if is_final else Standing.GO_ON

        return Pacing(
            looks=looks_up_to(most),
            seed=self._job.workload.seed + number,
            stands=stands,
            max_time_s=self._request.max_time_s - (perf_counter() - self._begin),
            min_rounds=LOOKS[0] if self._counted < LOOKS[0] else 1,
        )


def self_test(
    model: str | PathLike[str] | None = None,
    *,
    on: str | None = None,
    max_time_s: float = MAX_TIME_S,
    rounds: int = LOOKS[-1],
    threshold_pct: float = THRESHOLD_PCT,
    workload: Workload | None = None,
    limits: Limits | None = None,
    tags: tuple[str, ...] = (),
    store: str | PathLike[str] | None = None,
) -> SelfTest:
    """Measure how small a difference comparisons on this machine find, and how often in vain.

    A model is compared with itself, as ``bench --compare`` does it, again and again. The share of
    false verdicts of these comparisons is measured. The curve is of comparisons that are drawn from
    their rounds, with a planted difference. The result is recorded in the store, where `doctor`
    finds it.

    Args:
        model: By default a small sample.
        on: Backend with precision and options; by default the usual one.
        max_time_s: Of all that is measured; exceeded until 8 rounds count.
        rounds: Maximum of a comparison, 8 to 120.
        threshold_pct: Smaller differences do not matter.
        workload: As for `bench_interleaved`.
        limits: Of each process.
        tags: Names for the runs in the store.
        store: Where the runs are stored.

    Returns:
        ``test.smallest_pct`` is found in 95 of 100 drawn comparisons.

    Raises:
        UsageError: A request that contradicts itself or the model; or too few rounds count.
        UnsupportedError, BackendError: A process failed.
    """
    request = SelfTestRequest(
        models=(Path(model),) if model is not None else (),
        backends=(on,) if on else (),
        workload=paced_workload(workload),
        limits=limits,
        rounds=rounds,
        threshold_pct=threshold_pct,
        max_time_s=max_time_s,
        **stored_fields(tags, store),
    )
    return run_self_test(request, MeasurementObserver())
