"""Ask a fresh process: for the outputs of one side, or for what an engine consists of."""

from collections.abc import Callable
from pathlib import Path

from enginescope.backends.base import Answering, Inspecting
from enginescope.backends.registry import backends_that, load_backend, parse_backend
from enginescope.core.errors import BackendError, UnsupportedError, UsageError, disk_full_as_error
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job, Mode, Workload
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.runner.assemble import assemble
from enginescope.runner.isolate import run_isolated
from enginescope.runner.jobs import check_demands, runtime_of, subject_of
from enginescope.runner.session import engine_of, now, with_preparation


class EndedBadly(Exception):  # noqa: N818 - the cause of an error, never raised alone
    """How the process ended that did not answer; the cause of the error that says so."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


def answered(job: Job, on_progress: Callable[[Progress], None] = lambda _: None) -> Run:
    """Let a fresh process answer the samples of `job`, building its engine first if need be.

    Args:
        job: With `Job.answering`, which says where the outputs go.

    Returns:
        Without samples; `Run.inputs` and `Run.outputs` are what the model declares.

    Raises:
        UnsupportedError, BackendError: It could not be built, loaded or run; why, and what its
            process last said.
        DiskFullError: The disk of temporary files is full.
    """
    if not isinstance(load_backend(job.backend.name), Answering):
        able = ", ".join(backends_that(Answering))
        raise UsageError(f"{job.backend.name} cannot return outputs", hint=f"{able} can")
    what = f"{job.subject.name} on {job.backend}"
    with disk_full_as_error(what), temporary_folder() as folder:
        engine = engine_of(job, folder / "build", on_progress)
        if engine.failed and engine.ended is not None:
            raise_unless_ok(engine.ended.outcome, f"building {what}")
        own = folder / "answer"
        own.mkdir()
        ended = run_isolated(engine.job, own, on_progress, "answer")
        run = with_preparation(assemble(engine.job, ended, own), engine.preparation)
    raise_unless_ok(run.outcome, what)
    return run


def raise_unless_ok(outcome: Outcome, what: str) -> None:
    """Raise the error that an outcome stands for; its cause is an `EndedBadly`."""
    if outcome.kind is OutcomeKind.OK:
        return
    kind = UnsupportedError if outcome.kind is OutcomeKind.UNSUPPORTED else BackendError
    error = kind(what, why=outcome.message or outcome.detail, hint=outcome.hint)
    raise error from EndedBadly(outcome)


def inspect_engine(
    path: Path, on: str | None = None, *, on_started: Callable[[], None] = lambda: None
) -> Run:
    """Return a run without samples: an engine's plan, its GPU and versions, and what was noticed.

    Args:
        on: Backend specification; its options load the engine, as ``trt?plugins=libmine.so``; by
            default the TensorRT that the engine's header names.
        on_started: Called when nothing is missing, before the engine is loaded: that may take a
            while.
    """
    spec = parse_backend(on or runtime_of(path))
    if not isinstance(load_backend(spec.name), Inspecting):
        raise UsageError(f"{spec.name} cannot inspect an engine", hint="trt can")
    subject = replace(subject_of(path), kind="engine")
    check_demands(spec, Mode())
    job = Job(subject=subject, backend=spec, workload=Workload(mode=Mode(kind="latency")))
    on_started()
    with temporary_folder() as folder:
        run = assemble(job, run_isolated(job, folder, lambda _: None, "inspect"), folder)
    raise_unless_ok(run.outcome, f"{path} cannot be inspected")
    # the memory of a process that only asked is not a figure of the engine, and its files are gone
    return replace(run, created=now(), telemetry=None, peak_memory_bytes=None, artifacts=())
