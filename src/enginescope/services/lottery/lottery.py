"""``lottery``: how much of a latency's variance is due to the build."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from string import ascii_uppercase
from time import perf_counter
from typing import TYPE_CHECKING

from enginescope.analysis.lottery.build_outputs import OutputTally
from enginescope.analysis.lottery.lottery_report import Draw, TimedRun, lottery_report
from enginescope.backends.base import Builder, StoringBuilds
from enginescope.backends.registry import backend_of
from enginescope.core.errors import BackendError, EnginescopeError, UsageError
from enginescope.core.record import Record, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.experiment import SPARE_SHARE
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Limits, Workload
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.runner.session import build_engines, makes_first
from enginescope.services.lottery.request import (
    BUILDS,
    FEWEST_BUILDS,
    FEWEST_ITERATIONS,
    FEWEST_PROCESSES,
    PROCESSES,
    LotteryRequest,
    check_lottery_request,
)
from enginescope.services.measurement.interleaved import PROCESS_STOP, paced_workload
from enginescope.services.measurement.jobs import jobs_of, raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import JobRounds, Pacing, interrupted_notice
from enginescope.services.own_command import stored_fields
from enginescope.services.store_access import writable_store
from enginescope.store.archive import Store
from enginescope.store.machine_records import SPREADS

if TYPE_CHECKING:
    from enginescope.records.run.job import Job
    from enginescope.records.verdict.lottery import LotteryReport

#: Share of the maximum time that builds may take; the rest is for their processes.
_BUILDING_SHARE = 0.5


def hold_lottery(request: LotteryRequest, observer: MeasurementObserver) -> LotteryReport:
    """Build a model several times, and measure each build in several processes.

    Raises:
        UsageError: The request contradicts itself, or the backend makes no builds that last.
        UnsupportedError, BackendError: The first build failed, or fewer than three can be run.
        StoreError: The store cannot be written; nothing is built then.
    """
    check_lottery_request(request)
    store = writable_store(request.store)
    job = _job(request, store)
    with temporary_folder() as folder:
        return _Lottery(request, job, store, observer).run(folder)


def _job(request: LotteryRequest, store: Store) -> Job:
    """Return the job of all processes; its backend stores what it builds."""
    backends = (request.backend,) if request.backend else ()
    (job,) = jobs_of(request.jobs(request.model, backends=backends), store)
    backend = backend_of(job.backend)
    if isinstance(backend, StoringBuilds):
        job = replace(job, backend=backend.with_stored_build(job.backend))
    is_builder = isinstance(backend, Builder)
    if not makes_first(job):
        raise UsageError(
            f"{job.backend.name} makes no build that several processes can run",
            hint="--on trt, ort-cpu or another backend of ONNX Runtime",
        )
    if request.timing_cache is not None and not is_builder:
        raise UsageError(f"`timing_cache` with {job.backend.name}", why="only trt reads one")
    if "timing_cache" in job.backend.options:
        raise UsageError(
            f"{job.backend}: timing_cache",
            why="each build would read what the one before timed",
            hint="`timing_cache` FILE gives every build the same one",
        )
    return job


class _Built(Record, frozen=True, kw_only=True, eq=False):
    """A build that succeeded, and the job that runs it."""

    number: int
    job: Job
    build: TimedRun


class _Lottery:
    """Builds, then measures in rounds: one process of each build."""

    def __init__(
        self, request: LotteryRequest, job: Job, store: Store, observer: MeasurementObserver
    ) -> None:
        self._request, self._job, self._observer = request, job, observer
        self._store, self._outputs = store, OutputTally()
        self._lost: dict[int, str] = {}
        self._notices: list[Notice] = []
        self._begin = perf_counter()

    def run(self, folder: Path) -> LotteryReport:
        """Return the report; record the variation between builds."""
        begin = self._begin = perf_counter()
        built = list(self._builds(folder))
        self._check(len(built))
        measured = self._measured(built)
        draws = [
            Draw(
                number=build.number,
                build=build.build,
                processes=tuple(measured[build.number]),
                outputs=self._outputs.of(build.number),
            )
            for build in built
            if build.number not in self._lost
        ]
        self._check(len(draws))
        report = lottery_report(
            draws,
            backend=self._request.backend or self._job.backend.name,
            duration_s=perf_counter() - begin,
            budget_s=self._request.budget_s,
            notices=(*self._notices, *self._lost_builds()),
        )
        return self._recorded(report)

    def _recorded(self, report: LotteryReport) -> LotteryReport:
        try:
            SPREADS.record(self._store.path, report.spread)
        except EnginescopeError as error:
            self._observer.warn(f"the variation between builds is not recorded: {error}")
            return report
        return replace(report, is_recorded=True)

    def _check(self, usable: int) -> None:
        if usable < FEWEST_BUILDS:
            why = next(iter(self._lost.values()), None)
            raise BackendError(f"{usable} of {self._request.builds} builds can be run", why=why)

    def _lost_builds(self) -> Iterator[Notice]:
        for number, why in self._lost.items():
            yield Notice(
                code="W-LOST-BUILD",
                message=f"build {number} is skipped: {why}",
                evidence={"build": number},
            )

    def _builds(self, folder: Path) -> Iterator[_Built]:
        """Yield each build, made in a folder of its own, so that none finds what another left."""
        for number in range(1, self._request.builds + 1):
            own = folder / f"build-{number}"
            own.mkdir()
            job = replace(self._job, engine_cache=str(own))
            if self._request.timing_cache is not None:
                cache = own / "pinned.cache"
                shutil.copyfile(self._request.timing_cache, cache)
                job = _with_option(job, "timing_cache", str(cache))
            text = f"build {number} of {self._request.builds}"
            begin = perf_counter()
            (run,) = build_engines(
                (job,),
                lambda _run: None,
                command=self._request.command,
                watcher=self._observer.process_watcher(text),
            )
            seconds = perf_counter() - begin
            if number == 1:
                raise_unless_ok(run)
            if run.outcome.kind is not OutcomeKind.OK:
                self._lost[number] = run.outcome.message or run.outcome.kind.value
                continue
            yield _Built(number=number, job=job, build=TimedRun(run=run, seconds=seconds))
            if number >= FEWEST_BUILDS and self._is_over(_BUILDING_SHARE, seconds):
                return

    def _measured(self, built: list[_Built]) -> dict[int, list[TimedRun]]:
        request = self._request
        pacing = Pacing(
            seed=self._job.workload.seed,
            take=lambda label, run: self._outputs.add(_number(label, built), run.answers),
            text=lambda turn: (
                f"round {turn.round + 1} of {request.processes}, build {_number(turn.side, built)}"
            ),
        )
        rounds = JobRounds(
            [_measuring(one) for one in built],
            pacing,
            request.jobs(request.model),
            self._store,
            self._observer,
            spare=request.builds * request.processes // SPARE_SHARE,
        )
        measured: dict[int, list[TimedRun]] = {build.number: [] for build in built}
        for number in range(request.processes):
            begin = perf_counter()
            left = [at for at, one in enumerate(built) if one.number not in self._lost]
            row = rounds.round(left)
            if not row:
                break
            for side, entry in row.items():
                self._take(built[side].number, entry.measured.source)
                timed = TimedRun(run=entry.measured.source, seconds=entry.seconds or 0.0)
                measured[built[side].number].append(timed)
            if number + 1 >= FEWEST_PROCESSES and self._is_over(1.0, perf_counter() - begin):
                break
        if rounds.not_stored is not None:
            self._observer.warn(rounds.not_stored)
        done = min(len(measured[one.number]) for one in built if one.number not in self._lost)
        if self._observer.interruption is not None:
            if done < FEWEST_PROCESSES:
                raise self._observer.interruption
            self._notices.append(interrupted_notice(f"{done} of {request.processes} rounds"))
        return measured

    def _take(self, build: int, run: Run) -> None:
        """Note that a build is lost: one of its processes failed, or did not run it."""
        if run.outcome.kind is not OutcomeKind.OK:
            self._lost[build] = f"a process failed: {run.outcome.message}"
        made = run.build or run.preparation
        if made is not None and not made.from_cache:
            self._lost[build] = "a process did not find it and built anew"

    def _is_over(self, share: float, next_s: float) -> bool:
        """Whether a step of so many seconds would pass this share of the maximum time."""
        most = self._request.max_time_s
        return most is not None and perf_counter() - self._begin + next_s > share * most


def _number(label: str, built: Sequence[_Built]) -> int:
    """Return the number of the build whose side has this label."""
    return built[ascii_uppercase.index(label)].number


def _measuring(built: _Built) -> Job:
    """Return the job that runs a build; its first process times the layers of an engine."""
    return replace(built.job, layer_profile=built.build.run.build is not None, keep_outputs=True)


def _with_option(job: Job, name: str, value: str) -> Job:
    options = {**job.backend.options, name: value}
    return replace(job, backend=replace(job.backend, options=options))


def lottery_workload(workload: Workload | None) -> Workload:
    """Return the workload with a stop rule that shows how iterations vary."""
    paced = paced_workload(workload)
    if paced.stop != PROCESS_STOP:
        return paced
    return replace(paced, stop=replace(PROCESS_STOP, min_iterations=FEWEST_ITERATIONS))


def lottery(
    model: str | PathLike[str],
    *,
    on: str | None = None,
    builds: int = BUILDS,
    processes: int = PROCESSES,
    workload: Workload | None = None,
    timing_cache: str | PathLike[str] | None = None,
    max_time_s: float | None = None,
    budget_s: float | None = None,
    limits: Limits | None = None,
    tags: tuple[str, ...] = (),
    store: str | PathLike[str] | None = None,
) -> LotteryReport:
    """Build a model several times: how much of its latency's variance is due to the build.

    The variation between builds is recorded in the store, where `compare`, `gate` and `upgrade`
    find it.

    Args:
        model: An ONNX model.
        on: Backend with precision and options; by default the usual one.
        builds: Independent builds, 3 to 26.
        processes: Fresh processes that measure each build, 2 to 100.
        workload: As for `bench_interleaved`.
        timing_cache: Every build reads a copy of this file; without it, no build reads one.
        max_time_s: Make fewer builds and processes rather than take longer.
        budget_s: Time for which the best numbers of builds, processes and iterations are given; by
            default the time that the lottery took.
        limits: Of each process.
        tags: Names for the runs in the store.
        store: Where the runs are stored.

    Returns:
        ``report.component("build")`` has the standard deviation and its interval.

    Raises:
        UsageError: A request that contradicts itself or the model, or a backend without builds.
        UnsupportedError, BackendError: The first build failed, or fewer than three can be run.
    """
    request = LotteryRequest(
        model=Path(model),
        backend=on,
        builds=builds,
        processes=processes,
        workload=lottery_workload(workload),
        timing_cache=None if timing_cache is None else Path(timing_cache),
        max_time_s=max_time_s,
        budget_s=budget_s,
        process_limits=limits,
        **stored_fields(tags, store),
    )
    return hold_lottery(request, MeasurementObserver())
