"""Jobs that run at the same time, timed in one window that all of them share.

Each job has a worker of its own, or all have a thread of one worker. The protocol of the workers is
that of `enginescope.backends.contention`; here the parent answers what they report.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from subprocess import Popen

from enginescope.backends.contention import LOADED, OTHER_ENDED, WARM, Rendezvous, Window
from enginescope.core.errors import FormatError
from enginescope.core.jsonio import encode, write_atomic
from enginescope.core.record import replace
from enginescope.core.sidecar import load_record
from enginescope.core.temporary_folder import temporary_folder
from enginescope.probe.processes import SERVER_NAME
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job, Watcher
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.runner import session
from enginescope.runner.assemble import notices_of_run
from enginescope.runner.isolate import Ended, kill_running, run_isolated
from enginescope.runner.machine.gpu_condition import cool_down
from enginescope.runner.worker import FURTHER_JOBS, RESULT, WorkerResult


def run_contenders(
    jobs: Sequence[Job],
    sink: session.Sink,
    *,
    command: str | None = None,
    watcher: Watcher | None = None,
) -> tuple[Run, ...]:
    """Run `jobs` at the same time; their `Job.contention` names all of them.

    Other programs' load leaves the other contenders out. If one fails, all have failed, since the
    others ran alone meanwhile.

    Args:
        sink: Gets each run; one that caused a failure comes first. As for `run_jobs`.
        command: The command line to record.
    """
    watch = watcher or Watcher()
    watch.started(0, jobs[0])
    with temporary_folder() as folder:
        created = session.now()
        runs = _together(jobs, folder, partial(watch.progressed, 0))
        runs = tuple(session.dated(run, created, command) for run in runs)
        for run in runs:
            sink(run)
    return runs


def _together(
    jobs: Sequence[Job], folder: Path, on_progress: Callable[[Progress], None]
) -> tuple[Run, ...]:
    own = [folder / str(number) for number in range(len(jobs))]
    engines: list[session.Engine] = []
    for job, place in zip(jobs, own, strict=True):
        engine = session.engine_of(job, place / "build", on_progress)
        if engine.failed:
            return (session.run_of_build(job, engine, place / "build"),)
        engines.append(engine)
    cooled = cool_down(jobs[0], on_progress)
    rule = jobs[0].contention
    is_one_process = rule is not None and rule.share == "streams" and len(jobs) > 1
    ready = [engine.job for engine in engines]
    if is_one_process:
        own = [own[0], *(own[0] / str(number) for number in range(1, len(jobs)))]
        own[0].mkdir(exist_ok=True)
        write_atomic(own[0] / FURTHER_JOBS, encode(ready[1:]))
        first = run_isolated(ready[0], own[0], on_progress)
        ended, pids = [first, *(_further(first, place) for place in own[1:])], frozenset[int]()
    else:
        for place in own:
            place.mkdir(exist_ok=True)
        relay = _Relay(len(jobs), jobs[0].workload.stop.duration_ms or 0.0)
        ended, pids = _in_processes(ready, own, relay, on_progress), frozenset(relay.pids)
    runs = [
        session.measured_run(engine, end, place, cooled)
        for engine, end, place in zip(engines, ended, own, strict=True)
    ]
    cores = [run.contention.cores if run.contention else None for run in runs]
    if is_one_process:  # what the process took is not of others
        cores = []
    return _all_or_none(
        [
            _without_contenders(run, (*cores[:place], *cores[place + 1 :]), pids)
            for place, run in enumerate(runs)
        ]
    )


def _further(first: Ended, place: Path) -> Ended:
    """Return how a further thread of a worker ended; it shares the fate of the process."""
    if first.result is None:
        return first
    try:
        result = load_record(WorkerResult, place, RESULT)
    except FormatError as error:
        return replace(first, outcome=_failure(str(error)), result=None)
    return replace(first, outcome=result.outcome, result=result)


def _in_processes(
    jobs: Sequence[Job], own: Sequence[Path], relay: _Relay, on_progress: Callable[[Progress], None]
) -> list[Ended]:
    def watched(place: int) -> Ended:
        def progressed(progress: Progress) -> None:
            relay.progressed(place, progress)
            if place == 0:
                on_progress(progress)

        try:
            return run_isolated(
                jobs[place], own[place], progressed, "measure", partial(relay.spawned, place)
            )
        finally:
            relay.ended()

    with ThreadPoolExecutor(len(jobs)) as pool:
        futures = [pool.submit(watched, place) for place in range(len(jobs))]
        try:
            return [future.result() for future in futures]
        except BaseException:  # the threads wait for their workers
            relay.ended()
            kill_running()
            raise


class _Relay:
    """Answers workers by their standard input: when all have loaded, and when the window is."""

    def __init__(self, contenders: int, duration_ms: float) -> None:
        self._rendezvous = Rendezvous(contenders, duration_ms)
        self._lock = threading.Lock()
        self._workers: dict[int, Popen[bytes]] = {}
        self._is_begun = False
        self._window: Window | None = None

    @property
    def pids(self) -> Iterator[int]:
        return (worker.pid for worker in self._workers.values())

    def spawned(self, place: int, worker: Popen[bytes]) -> None:
        with self._lock:
            self._workers[place] = worker
            if self._rendezvous.is_broken:
                self._close()

    def progressed(self, place: int, progress: Progress) -> None:
        with self._lock:
            if self._rendezvous.is_broken:
                return
            if progress.phase == LOADED and not self._is_begun:
                if self._rendezvous.note_loaded(place):
                    self._is_begun = True
                    self._send(b"\n")
            elif progress.phase == WARM and self._window is None:
                self._window = self._rendezvous.note_warm(place, progress.median_ms or 0.0)
                if self._window is not None:
                    self._send(b"%d %d\n" % self._window)

    def ended(self) -> None:
        """Have the others end too, if they wait for one that ended."""
        with self._lock:
            self._rendezvous.abort()
            self._close()

    def _send(self, line: bytes) -> None:
        for worker in self._workers.values():
            if worker.stdin is not None:
                with contextlib.suppress(OSError):  # it has ended, which its watcher will see
                    worker.stdin.write(line)
                    worker.stdin.flush()

    def _close(self) -> None:
        for worker in self._workers.values():
            if worker.stdin is not None:
                with contextlib.suppress(OSError):
                    worker.stdin.close()


def _without_contenders(run: Run, cores: Sequence[float | None], pids: frozenset[int]) -> Run:
    """Return a run whose load by others leaves the other contenders out."""
    usual = notices_of_run(run)
    other, gpu, outcome = run.other_load_cores, run.gpu, run.contention
    if other is not None:
        other = max(0.0, other - sum(core or 0.0 for core in cores))
    if gpu is not None:
        foreign = [process for process in gpu.others if process.pid not in pids]
        others = tuple(process for process in foreign if process.name != SERVER_NAME)
        gpu = replace(gpu, others=others)
        outcome = outcome and replace(outcome, has_mps=len(others) < len(foreign))
    corrected = replace(run, other_load_cores=other, gpu=gpu, contention=outcome)
    notices = (notice for notice in run.notices if notice not in usual)
    return replace(corrected, notices=(*notices, *notices_of_run(corrected)))


def _all_or_none(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Return the runs; those that others left alone have failed, and come last."""
    failed = [run for run in runs if run.outcome.kind is not OutcomeKind.OK]
    if not failed:
        return tuple(runs)
    causes = sorted(failed, key=lambda run: OTHER_ENDED in (run.outcome.message or ""))
    names = causes[0].job.subject.name
    left = [
        replace(run, outcome=_failure(f"{names}, which ran at the same time, failed"))
        for run in runs
        if run.outcome.kind is OutcomeKind.OK
    ]
    return (*causes, *left)


def _failure(message: str) -> Outcome:
    return Outcome(kind=OutcomeKind.FAILED, message=message)
