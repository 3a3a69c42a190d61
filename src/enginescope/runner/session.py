"""Jobs into runs, one after another; each is handed over as soon as it has ended."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import msgspec

from enginescope.backends.base import Measured, Progress
from enginescope.core.record import Record
from enginescope.model.job import Job
from enginescope.model.notice import Notice
from enginescope.model.run import Artifact, Run
from enginescope.probe.environment import probe_environment
from enginescope.runner.isolate import LOG, Ended, run_isolated
from enginescope.runner.notices import notices_of_run


class Watcher(Record, frozen=True, kw_only=True):
    """What is told while jobs run.

    Attributes
    ----------
    started : callable (index, job)
    progressed : callable (index, progress)
    """

    started: Callable[[int, Job], None] = lambda _index, _job: None
    progressed: Callable[[int, Progress], None] = lambda _index, _progress: None


Sink = Callable[[Run], None]


def run_jobs(
    jobs: Sequence[Job], sink: Sink, *, command: str | None = None, watcher: Watcher | None = None
) -> tuple[Run, ...]:
    """Run `jobs` in order, each in its own process.

    Parameters
    ----------
    sink : callable
        Gets each run as soon as its job has ended, whatever the outcome. Files the run refers to
        are there only during the call.
    command : str, optional
        The command line to record.

    Returns
    -------
    tuple of Run
        One for each job, in order; a failed job is a run with its outcome.
    """
    watch = watcher or Watcher()
    runs = []
    for index, job in enumerate(jobs):
        watch.started(index, job)
        folder = Path(tempfile.mkdtemp(prefix="enginescope-"))
        try:
            created = datetime.now(timezone.utc).isoformat(timespec="microseconds")
            ended = run_isolated(job, folder, partial(watch.progressed, index))
            run = _assemble(job, ended, folder, created=created, command=command)
            sink(run)
            runs.append(run)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return tuple(runs)


def _assemble(job: Job, ended: Ended, folder: Path, *, created: str, command: str | None) -> Run:
    result = ended.result
    measured = result.measured if result else Measured()
    environment = result.environment if result else probe_environment()
    workload = msgspec.structs.replace(job.workload, batch=measured.batch or job.workload.batch)
    run = Run(
        id=secrets.token_hex(6),
        created=created,
        origin="measured",
        job=msgspec.structs.replace(job, workload=workload),
        outcome=ended.outcome,
        environment=environment,
        command=command,
        phases=result.phases if result else (),
        inputs=measured.inputs,
        outputs=measured.outputs,
        samples=measured.samples,
        warmup=measured.warmup,
        stop=measured.stop,
        profile=measured.profile,
        telemetry=ended.memory,
        peak_memory_bytes=result.peak_memory_bytes if result else None,
        timer_resolution_ms=result.timer_resolution_ms if result else None,
        other_load_cores=measured.other_load_cores,
        providers=measured.providers,
        placement=measured.placement,
        artifacts=_artifacts(folder),
    )
    notices: tuple[Notice, ...] = (*measured.notices, *notices_of_run(run))
    return msgspec.structs.replace(run, notices=notices)


def _artifacts(folder: Path) -> tuple[Artifact, ...]:
    log = folder / LOG
    if not log.exists() or log.stat().st_size == 0:
        return ()
    return (Artifact(kind="worker_log", path=str(log)),)
