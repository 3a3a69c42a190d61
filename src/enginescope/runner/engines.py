"""What a job needs before it is measured: from the cache, or made in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from enginescope.backends.base import Builder, Preparing
from enginescope.backends.registry import load_backend
from enginescope.core.record import Record
from enginescope.records.plan.build import BuildReport
from enginescope.records.plan.preparation import Preparation
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job
from enginescope.records.run.run import OutcomeKind
from enginescope.runner.isolate import Ended, run_isolated


class Engine(Record, frozen=True, kw_only=True, eq=False):
    """What became of the engine of a job.

    Attributes:
        job: With `Job.engine` set, if there is one.
        report: ``None``: nothing had to be built, or the build failed.
        preparation: What was made of the model for a backend that builds no engines of its own.
        ended: How the building process ended; ``None`` if none was needed.
    """

    job: Job
    report: BuildReport | None = None
    preparation: Preparation | None = None
    ended: Ended | None = None

    @property
    def failed(self) -> bool:
        """Whether there is no engine although one is needed."""
        return self.ended is not None and self.ended.outcome.kind is not OutcomeKind.OK


def makes_first(job: Job) -> bool:
    """Whether a process makes an engine or another model for `job` before it is measured."""
    backend = load_backend(job.backend.name)
    return (isinstance(backend, Preparing) and backend.needs_preparation(job)) or (
        isinstance(backend, Builder) and backend.needs_build(job)
    )


def engine_of(job: Job, folder: Path, on_progress: Callable[[Progress], None]) -> Engine:
    """Return the engine of `job`, building it if it must be built.

    Args:
        folder: For the building process, and for the engine where the job names no cache.
    """
    backend = load_backend(job.backend.name)
    if isinstance(backend, Preparing) and backend.needs_preparation(job):
        return _made_ready(backend, job, folder, on_progress)
    if not isinstance(backend, Builder) or not backend.needs_build(job):
        return Engine(job=job)
    kept = None if job.rebuild else backend.engine_for(job)
    if kept is not None:
        return _with(job, kept, None)
    folder.mkdir(parents=True, exist_ok=True)
    building = msgspec.structs.replace(job, engine_cache=job.engine_cache or str(folder / "cache"))
    ended = run_isolated(building, folder, on_progress, "build")
    report = ended.result.measured.build if ended.result else None
    return _with(job, report, ended) if report else Engine(job=job, ended=ended)


def _made_ready(
    backend: Preparing, job: Job, folder: Path, on_progress: Callable[[Progress], None]
) -> Engine:
    found = None if job.rebuild else backend.prepared_for(job)
    ended = None
    if found is None:
        folder.mkdir(parents=True, exist_ok=True)
        cache = job.engine_cache or str(folder / "cache")
        making = msgspec.structs.replace(job, engine_cache=cache)
        ended = run_isolated(making, folder, on_progress, "make_ready")
        found = ended.result.measured.preparation if ended.result else None
    if found is None:
        return Engine(job=job, ended=ended)
    ready = msgspec.structs.replace(job, engine=found.record)
    return Engine(job=ready, preparation=found, ended=ended)


def _with(job: Job, report: BuildReport, ended: Ended | None) -> Engine:
    ready = msgspec.structs.replace(job, engine=report.engine)
    return Engine(job=ready, report=report, ended=ended)
