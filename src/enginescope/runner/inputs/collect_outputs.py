"""Outputs of one side, from a fresh process."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.backends.base import Answering
from enginescope.backends.registry import backends_that, load_backend
from enginescope.core.errors import BackendError, UnsupportedError, UsageError, disk_full_as_error
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.runner.assemble import assemble
from enginescope.runner.isolate import run_isolated
from enginescope.runner.session import engine_of, with_preparation


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
