"""``lottery``: how much of a latency's variance is due to the build."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Annotated

from enginescope.analysis.lottery.lottery_report import Draw, OutputTally, TimedRun, lottery_report
from enginescope.backends.base import Builder, StoringBuilds
from enginescope.backends.registry import backend_of, backends_that
from enginescope.core.errors import BackendError, EnginescopeError, UsageError
from enginescope.core.jsonio import decode, encode, sha256_of, write_atomic
from enginescope.core.record import Record, replace
from enginescope.formats.plan.engine_file import ENGINE_SUFFIXES
from enginescope.judge.experiment import SPARE_SHARE, Entry
from enginescope.judge.notice import Notice
from enginescope.records.progress import RoundPosition, side_number
from enginescope.records.run.job import Job
from enginescope.records.run.run import Run
from enginescope.records.verdict.lottery import LotteryReport
from enginescope.runner.session import build_engines, makes_first
from enginescope.services.declared import File, Param, python_function
from enginescope.services.measurement.interleaved import PROCESS_STOP, paced_workload
from enginescope.services.measurement.jobs import ModelRequest, On, jobs_of, raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.recorded import kept_folder
from enginescope.services.measurement.rounds import JobRounds, Pacing, interrupted_notice
from enginescope.services.store_access import writable_store
from enginescope.store.archive import Store
from enginescope.store.machine_records import SPREADS

#: Two builds do not show how builds vary.
LEAST_BUILDS = 3
LEAST_PROCESSES = 2
#: Twelve batches of two.
FEWEST_ITERATIONS = 24
#: Share of the maximum time that builds may take; the rest is for their processes.
_BUILDING_SHARE = 0.5
#: What became of a build, in its folder; and beside the folders, once no more builds are made.
_MADE, _ALL_MADE = "made.json", "all-made"
_PINNED = "pinned.cache"


class LotteryRequest(ModelRequest, frozen=True, kw_only=True):
    """A model to build several times: the parameters of `lottery`."""

    on: On = None
    builds: Annotated[  # each has a letter of the alphabet as a side
        int, Param("Number of independent builds.", least=LEAST_BUILDS, most=26)
    ] = 10
    processes: Annotated[
        int, Param("Fresh processes that measure each build.", least=LEAST_PROCESSES, most=100)
    ] = 3
    timing_cache: Annotated[
        File | None, Param("Give every TensorRT build a copy of this timing cache.", usual="none")
    ] = None


def hold_lottery(request: LotteryRequest, observer: MeasurementObserver) -> LotteryReport:
    """Build a model several times: how much of its latency's variance is due to the build.

    The variation between builds is recorded in the store, where `compare`, `gate` and `upgrade`
    find it. Builds stay in the store until all processes are measured, so that an interrupted
    lottery can continue.

    Returns:
        ``report.component("build")`` has the standard deviation and its interval.

    Raises:
        UsageError: A request that contradicts itself or the model, or a backend without builds.
        StoreError: The store cannot be written.
        UnsupportedError, BackendError: The first build failed, or fewer than three can be run.
    """
    workload = paced_workload(request.workload)
    if workload.stop == PROCESS_STOP:  # enough of them show how iterations vary
        workload = replace(workload, stop=replace(PROCESS_STOP, min_iterations=FEWEST_ITERATIONS))
    request = replace(request, workload=workload)
    _check(request)
    store = writable_store(request.store)
    job = _job(request, store)
    cache = request.timing_cache and sha256_of(Path(request.timing_cache))
    asked = replace(job, engine_cache=None), cache, request.builds
    with kept_folder(store.path / "lottery", asked, request, observer) as folder:
        return _Lottery(request, job, store, observer).run(folder)


def _check(request: LotteryRequest) -> None:
    iterations = request.workload.stop.iterations
    if iterations is not None and iterations < FEWEST_ITERATIONS:
        why = f"fewer than {FEWEST_ITERATIONS} do not show how iterations vary"
        raise UsageError(f"iterations: {iterations}", why=why)
    if request.path.suffix.lower() in ENGINE_SUFFIXES:
        raise UsageError(f"{request.path} is built already", hint="name its ONNX model")
    file = request.timing_cache
    if file is not None and not Path(file).is_file():
        hint = f"enginescope build {request.path} --timing-cache {file} makes it"
        raise UsageError(f"timing cache {file}", why="there is no such file", hint=hint)


def _job(request: LotteryRequest, store: Store) -> Job:
    """Return the job of all processes; its backend stores what it builds."""
    (job,) = jobs_of(request.jobs(request.path, on=request.on), store)
    backend = backend_of(job.backend)
    if isinstance(backend, StoringBuilds):
        job = replace(job, backend=backend.with_stored_build(job.backend))
    is_builder = isinstance(backend, Builder)
    if not makes_first(job):
        what = f"{job.backend.name} makes no build that several processes can run"
        hint = f"`on` {', '.join(backends_that(StoringBuilds))}, or one that builds engines"
        raise UsageError(what, hint=hint)
    if request.timing_cache is not None and not is_builder:
        raise UsageError(f"`timing_cache` with {job.backend.name}", why="only trt reads one")
    if "timing_cache" in job.backend.options:
        why = "each build would read what the one before timed"
        hint = "`timing_cache` FILE gives every build the same one"
        raise UsageError(f"{job.backend}: timing_cache", why=why, hint=hint)
    return job


class _Made(Record, frozen=True, kw_only=True):
    """What became of a build: the job that runs it, or why it cannot be run (`lost`)."""

    number: int
    job: Job
    seconds: float
    peak_bytes: int | None = None
    lost: str | None = None


class _Lottery:
    """Builds, then measures in rounds: one process of each build."""

    def __init__(
        self, request: LotteryRequest, job: Job, store: Store, observer: MeasurementObserver
    ) -> None:
        self._request, self._job, self._observer = request, job, observer
        self._store, self._outputs = store, OutputTally()
        self._lost: dict[int, str] = {}
        self._notices: list[Notice] = []
        self._begin, self._earlier_s = perf_counter(), 0.0

    def run(self, folder: Path) -> LotteryReport:
        """Return the report; record the variation between builds."""
        built = list(self._builds(folder))
        (folder / _ALL_MADE).touch()
        self._check(len(built))
        measured = self._measured(built)
        draws = [
            Draw(
                number=build.number,
                build_s=build.seconds,
                build_peak_bytes=build.peak_bytes,
                processes=tuple(measured[build.number]),
                outputs=self._outputs.of(build.number),
            )
            for build in built
            if build.number not in self._lost
        ]
        self._check(len(draws))
        lost = (
            Notice(
                code="W-LOST-BUILD",
                message=f"build {number} is skipped: {why}",
                evidence={"build": number},
            )
            for number, why in self._lost.items()
        )
        backend = self._request.on or self._job.backend.name
        duration_s = perf_counter() - self._begin + self._earlier_s
        notices = (*self._notices, *lost)
        report = lottery_report(draws, backend=backend, duration_s=duration_s, notices=notices)
        try:
            SPREADS.record(self._store.path, report.spread)
        except EnginescopeError as error:
            self._observer.warn(f"the variation between builds is not recorded: {error}")
            return report
        return replace(report, is_recorded=True)

    def _check(self, usable: int) -> None:
        if usable < LEAST_BUILDS:
            why = next(iter(self._lost.values()), None)
            raise BackendError(f"{usable} of {self._request.builds} builds can be run", why=why)

    def _builds(self, folder: Path) -> Iterator[_Made]:
        """Yield each build, made in a folder of its own, so that none finds what another left."""
        for number in range(1, self._request.builds + 1):
            own = folder / f"build-{number}-{folder.name}"
            is_earlier = (own / _MADE).exists()
            if not is_earlier and (folder / _ALL_MADE).exists():
                continue
            job = replace(self._job, engine_cache=str(own))
            if self._request.timing_cache is not None:
                options = {**job.backend.options, "timing_cache": str(own / _PINNED)}
                job = replace(job, backend=replace(job.backend, options=options))
            if is_earlier:
                result = decode((own / _MADE).read_bytes(), _Made, source=str(own / _MADE))
                self._earlier_s += result.seconds
            else:
                result = self._made(number, job, own)
            if result.lost is not None:
                self._lost[number] = result.lost
                continue
            yield result
            if number >= LEAST_BUILDS and self._is_over(_BUILDING_SHARE, result.seconds):
                return

    def _made(self, number: int, job: Job, own: Path) -> _Made:
        shutil.rmtree(own, ignore_errors=True)  # what a kill has left
        own.mkdir()
        if self._request.timing_cache is not None:
            shutil.copyfile(self._request.timing_cache, own / _PINNED)
        text = f"build {number} of {self._request.builds}"
        begin = perf_counter()
        command = self._request.command
        watcher = self._observer.process_watcher(text)
        (run,) = build_engines((job,), lambda _run: None, command=command, watcher=watcher)
        if number == 1:
            raise_unless_ok(run)
        is_engine = run.build is not None  # whose layers its first process times
        result = _Made(
            number=number,
            job=replace(job, layer_profile=is_engine, keep_outputs=True),
            seconds=perf_counter() - begin,
            peak_bytes=run.peak_memory_bytes,
            lost=None if run.is_ok else run.outcome.message or run.outcome.kind.value,
        )
        write_atomic(own / _MADE, encode(result))
        return result

    def _measured(self, built: list[_Made]) -> dict[int, list[TimedRun]]:
        request = self._request

        def text(turn: RoundPosition) -> str:
            number = built[side_number(turn.side)].number
            return f"round {turn.round + 1} of {request.processes}, build {number}"

        def take(label: str, run: Run) -> None:
            self._outputs.add(built[side_number(label)].number, run.answers)

        rounds = JobRounds(
            [build.job for build in built],
            Pacing(looks=(request.processes,), seed=self._job.workload.seed, take=take, text=text),
            request.jobs(request.path),
            self._store,
            self._observer,
            spare=request.builds * request.processes // SPARE_SHARE,
        )
        measured: dict[int, list[TimedRun]] = {build.number: [] for build in built}
        done = 0
        while done < request.processes:
            begin = perf_counter()
            left = [at for at, one in enumerate(built) if one.number not in self._lost]
            row = rounds.round(left)
            if not row:
                break
            for side, entry in row.items():
                measured[built[side].number].append(self._timed(built[side].number, entry))
            done += 1
            if done >= LEAST_PROCESSES and self._is_over(1.0, perf_counter() - begin):
                break
        if rounds.not_stored is not None:
            self._observer.warn(rounds.not_stored)
        if self._observer.interruption is not None:
            if done < LEAST_PROCESSES:
                raise self._observer.interruption
            self._notices.append(interrupted_notice(f"{done} of {request.processes} rounds"))
        return measured

    def _timed(self, build: int, entry: Entry[Run]) -> TimedRun:
        """Return a process; a build is lost if one of its processes failed or did not run it."""
        run, seconds = entry.measured.source, entry.seconds
        if seconds is None:  # of a recorded process
            seconds = sum(phase.duration_ms for phase in run.phases) / 1e3
            self._earlier_s += seconds
        if not run.is_ok:
            self._lost[build] = f"a process failed: {run.outcome.message}"
        made = run.build or run.preparation
        if made is not None and not made.from_cache:
            self._lost[build] = "a process did not find it and built anew"
        return TimedRun(run=run, seconds=seconds)

    def _is_over(self, share: float, next_s: float) -> bool:
        most = self._request.max_time_s
        return most is not None and perf_counter() - self._begin + next_s > share * most


lottery = python_function("lottery", LotteryRequest, hold_lottery)
