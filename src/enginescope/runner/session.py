"""Jobs into runs, one after another, with what each needs first; each is handed over at once."""

import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from enginescope.backends.base import Builder, Measured, Preparing
from enginescope.backends.registry import load_backend
from enginescope.core.errors import MAKE_SPACE, is_disk_full, reason_of
from enginescope.core.record import Record, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.plan.engine_file import with_passport
from enginescope.judge.notice import Notice
from enginescope.probe.environment import probe_commit, probe_environment
from enginescope.records.plan.build import BuildReport, Preparation
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job, Watcher
from enginescope.records.run.run import Outcome, OutcomeKind, Phase, Run
from enginescope.runner.assemble import assemble, build_artifacts
from enginescope.runner.isolate import Ended, run_isolated
from enginescope.runner.machine.gpu_condition import Cooled, cool_down
from enginescope.runner.worker import Task


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
    made: BuildReport | Preparation | None
    if isinstance(backend, Preparing) and backend.needs_preparation(job):
        task: Task = "make_ready"
        made = None if job.rebuild else backend.prepared_for(job)
    elif isinstance(backend, Builder) and backend.needs_build(job):
        task = "build"
        made = None if job.rebuild else backend.engine_for(job)
    else:
        return Engine(job=job)
    ended = None
    if made is None:
        folder.mkdir(parents=True, exist_ok=True)
        making = replace(job, engine_cache=job.engine_cache or str(folder / "cache"))
        ended = run_isolated(making, folder, on_progress, task)
        measured = ended.result.measured if ended.result else Measured()
        made = measured.build if task == "build" else measured.preparation
    if isinstance(made, Preparation):
        return Engine(job=replace(job, engine=made.record), preparation=made, ended=ended)
    ready = replace(job, engine=made.engine) if made else job
    return Engine(job=ready, report=made, ended=ended)


Sink = Callable[[Run], None]


def run_jobs(
    jobs: Sequence[Job], sink: Sink, *, command: str | None = None, watcher: Watcher | None = None
) -> tuple[Run, ...]:
    """Run `jobs` in order, each in its own process.

    Args:
        sink: Gets each run as soon as its job has ended, whatever the outcome. Files the run refers
            to are there only during the call.
        command: The command line to record.

    Returns:
        One for each job, in order; a failed job is a run with its outcome.
    """
    return _each(jobs, sink, _measured, command=command, watcher=watcher)


def build_engines(
    jobs: Sequence[Job], sink: Sink, *, command: str | None = None, watcher: Watcher | None = None
) -> tuple[Run, ...]:
    """Build the engines of `jobs` and measure nothing.

    Parameters and returns are those of `run_jobs`; a run has no samples, and `Run.build` says where
    its engine lies.
    """
    return _each(jobs, sink, _built, command=command, watcher=watcher)


_Doing = Callable[[Job, Path, Callable[[Progress], None]], Run]


def _each(
    jobs: Sequence[Job], sink: Sink, do: _Doing, *, command: str | None, watcher: Watcher | None
) -> tuple[Run, ...]:
    watch = watcher or Watcher()
    runs = []
    for index, job in enumerate(jobs):
        watch.started(index, job)
        with temporary_folder() as folder:
            created = now()
            try:
                run = do(job, folder, partial(watch.progressed, index))
            except OSError as error:
                if not is_disk_full(error):
                    raise
                message = f"the disk of temporary files is full: {reason_of(error)}"
                full = Outcome(kind=OutcomeKind.FAILED, message=message, hint=MAKE_SPACE)
                run = unstarted_run(job, full)
            run = dated(run, created, command)
            sink(run)
            runs.append(run)
    return tuple(runs)


def now() -> str:
    """Return the time as `Run.created` has it."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def dated(run: Run, created: str, command: str | None) -> Run:
    environment = replace(run.environment, commit=probe_commit(Path.cwd()))
    return replace(run, created=created, command=command, environment=environment)


def unstarted_run(job: Job, outcome: Outcome, command: str | None = None) -> Run:
    """Return the run of a job that was not started."""
    return Run(
        id=secrets.token_hex(6),
        created=now(),
        origin="measured",
        job=job,
        outcome=outcome,
        environment=probe_environment(),
        command=command,
    )


def _measured(job: Job, folder: Path, on_progress: Callable[[Progress], None]) -> Run:
    engine = engine_of(job, folder / "build", on_progress)
    if engine.failed:
        return run_of_build(job, engine, folder / "build")
    own = folder / "measure"
    own.mkdir()
    cooled = cool_down(job, on_progress)  # after the build, which heats the GPU
    ended = run_isolated(engine.job, own, on_progress)
    return measured_run(engine, ended, own, cooled)


def measured_run(engine: Engine, ended: Ended, own: Path, cooled: Cooled | None) -> Run:
    """Return the run of a job that was measured, with what was made for it before.

    Args:
        own: The folder of its worker.
    """
    run = assemble(engine.job, ended, own)
    if cooled is not None:
        notices = (*cooled.notices, *run.notices)
        run = replace(run, phases=(cooled.phase, *run.phases), notices=notices)
    run = with_preparation(run, engine.preparation)
    if engine.report is not None:
        return _with_build(run, engine.report, with_plan=False)
    subject = run.job.subject
    if subject.kind != "engine" or subject.path is None:
        return run
    return with_passport(run, Path(subject.path), subject.sha256)


def _built(job: Job, folder: Path, on_progress: Callable[[Progress], None]) -> Run:
    return run_of_build(job, engine_of(job, folder / "build", on_progress), folder / "build")


def run_of_build(job: Job, engine: Engine, folder: Path) -> Run:
    """Return a run without samples: of a build that failed, or that was all that was wanted."""
    ended = engine.ended
    run = unstarted_run(job, Outcome()) if ended is None else assemble(job, ended, folder)
    return _with_build(run, engine.report, with_plan=True) if engine.report else run


def with_preparation(run: Run, made: Preparation | None) -> Run:
    """Return a run with what was made of its model; what was made now took its time now."""
    if made is None:
        return run
    conversions = (
        Phase(name="infer_shapes" if one.kind == "shapes" else "convert", duration_ms=one.made_ms)
        for one in made.made
        if one.made_ms is not None and not one.from_cache
    )
    phases = () if made.from_cache else (*conversions, *made.cold)
    run = replace(run, preparation=made, phases=(*phases, *run.phases))
    return _with_notices(run, made.notices)


def _with_notices(run: Run, notices: Sequence[Notice]) -> Run:
    """Return a run with notices of what was made for it, each once and before its own."""
    known = {(notice.code, notice.message) for notice in run.notices}
    said = [notice for notice in notices if (notice.code, notice.message) not in known]
    return replace(run, notices=(*said, *run.notices))


def _with_build(run: Run, report: BuildReport, *, with_plan: bool) -> Run:
    """Return a run with its build; an engine from the cache cost nothing this time."""
    times = {} if report.from_cache else {"parse": report.parse_ms, "build": report.build_ms}
    phases = (Phase(name=name, duration_ms=ms) for name, ms in times.items() if ms is not None)
    artifacts = (*build_artifacts(report, with_plan=with_plan), *run.artifacts)
    built = replace(run, build=report, phases=(*phases, *run.phases), artifacts=artifacts)
    return _with_notices(built, report.notices)
