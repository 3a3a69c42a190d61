"""The answers of a cell held against a reference, as ``validate`` does."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from enginescope.analysis.output_tolerance import ToleranceOption, ToleranceRequest
from enginescope.analysis.suite_row import CellChecked, answer_figures
from enginescope.analysis.validation import ValidatedSide, Validation
from enginescope.backends.base import Answering, Progress
from enginescope.backends.registry import load_backend, parse_backend
from enginescope.core.errors import BackendError, EnginescopeError
from enginescope.formats.stored_answers import has_expected
from enginescope.model.job import Job
from enginescope.model.run import Outcome, Run
from enginescope.model.sample_set import Preprocessing, Sample
from enginescope.model.suite import Cell, CellStatus
from enginescope.runner.answering import EndedBadly
from enginescope.runner.jobs import subject_of
from enginescope.runner.sample_sources import random_samples, samples_in
from enginescope.runner.session import Watcher
from enginescope.runner.suite_cell import refusal_of
from enginescope.suite_reference import ReferenceAnswers
from enginescope.validation_run import Plan, ValidationRun, Watch
from enginescope.validation_sides import EXPECTED, REFERENCE, Side, Sides


def checked_cell(
    cell: Cell, watcher: Watcher, references: ReferenceAnswers | None = None
) -> CellChecked:
    """Return what the comparison of a cell's answers comes to.

    The reference is the one that the suite names; else the data set's outputs; else the model on
    ONNX Runtime's CPU provider with one thread.

    Parameters
    ----------
    references : ReferenceAnswers, optional
        What references have answered to other cells.

    Raises
    ------
    EnginescopeError
        There is no comparing: the reference fails, or a sample cannot be read.
    """
    refused = refusal_of(cell)
    if refused is not None:
        return CellChecked(status=CellStatus.UNSUPPORTED, reason=refused.message, hint=refused.hint)
    if not isinstance(load_backend(cell.job.backend.name), Answering):
        # it can still be measured: a tool that times by itself, as those scripts' trtexec was
        status = CellStatus.UNSUPPORTED if cell.mode == "validate" else CellStatus.OK
        why = f"{cell.job.backend.name} does not hand over its answers: they were not compared"
        return CellChecked(status=status, reason=why)
    samples, job = _samples(cell)
    folder = Path(tempfile.mkdtemp(prefix="enginescope-"))
    try:
        plan = Plan(
            sides=_sides(cell, job, samples),
            samples=samples,
            preprocessing=Preprocessing(),
            folder=str(folder),
            keeps_inputs=False,
            tolerance=cell.checking.tolerance,
            asked=_asked(cell),
        )
        doing = _CellAnswers(plan, lambda _job, progress: _tell(watcher, progress), references)
        try:
            doing.bindings()
            doing.answers()
            found = doing.compared(lambda _number: None)
        except _ReferenceError:
            if plan.sides.others[0].label not in doing.outcomes:
                raise
            return _outcome(doing, plan.sides.others[0].label)
        return _checked(found, doing)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _CellAnswers(ValidationRun):
    """Keeps how a process that did not answer has ended, and what references have answered."""

    def __init__(self, plan: Plan, watch: Watch, references: ReferenceAnswers | None) -> None:
        super().__init__(plan, watch)
        self._references = references
        self.outcomes: dict[str, Outcome] = {}

    def _answered(
        self, job: Job, side: Side, samples: Sequence[Sample], *, keeps_inputs: bool = False
    ) -> Run:
        references = self._references if side is self._plan.sides.reference else None
        if references is not None:
            known = references.given(job, samples, self._folder(side.label))
            if known is not None:
                return known
        try:
            run = super()._answered(job, side, samples, keeps_inputs=keeps_inputs)
            if references is not None:
                references.keep(job, samples, run, self._folder(side.label))
            return run
        except BackendError as error:
            cause = error.__cause__
            if isinstance(cause, EndedBadly):
                self.outcomes[side.label] = cause.outcome
            if side is self._plan.sides.reference:
                raise _ReferenceError(str(error), hint=error.hint) from error
            raise


class _ReferenceError(EnginescopeError):
    """Not the cell's fault, and yet there is nothing to hold it against."""

    def __init__(self, text: str, *, hint: str | None) -> None:
        super().__init__("the reference failed", why=text, hint=hint)


def _samples(cell: Cell) -> tuple[tuple[Sample, ...], Job]:
    """Return what is answered, and the cell's job without what the samples bring themselves."""
    work = cell.job.workload
    fixed: tuple[Sample, ...]
    if cell.data_sets:
        fixed, shapes = samples_in([Path(one) for one in cell.data_sets]).samples, work.shapes
    else:
        fixed, shapes = random_samples(cell.checking.samples, work.seed, work.shapes)
    workload = msgspec.structs.replace(work, data_set=None, shapes=shapes)
    return fixed, msgspec.structs.replace(cell.job, workload=workload, layer_profile=False)


def _sides(cell: Cell, job: Job, samples: tuple[Sample, ...]) -> Sides:
    side = Side(label=f"{cell.model} · {cell.spec}", job=job)
    given = cell.checking.reference
    if given is not None and Path(given).is_dir():
        reference = Side(label=f"outputs in {given}", folder=str(Path(given).resolve()))
    elif given is None and samples and all(map(has_expected, samples)):
        reference = Side(label=EXPECTED)
    else:
        reference = Side(label="reference", job=_reference(job, given))
    return Sides(reference=reference, others=(side,), note=None)


def _reference(job: Job, given: str | None) -> Job:
    text = REFERENCE if given in (None, "ort-cpu") else given
    if text is not None and Path(text).is_file():
        subject = subject_of(Path(text))
        return msgspec.structs.replace(job, subject=subject, backend=parse_backend(REFERENCE))
    return msgspec.structs.replace(job, backend=parse_backend(text or REFERENCE))


def _asked(cell: Cell) -> ToleranceRequest:
    asked = cell.checking

    def option(value: float | None) -> tuple[ToleranceOption, ...]:
        return () if value is None else (ToleranceOption(output=None, value=value),)

    return ToleranceRequest(
        rtol=option(asked.rtol), atol=option(asked.atol), mismatch_pct=option(asked.mismatch_pct)
    )


def _tell(watcher: Watcher, progress: Progress | None) -> None:
    if progress is not None:
        watcher.progressed(0, progress)


def _checked(found: Validation, doing: _CellAnswers) -> CellChecked:
    (side,) = found.sides
    figures = answer_figures(found.sides)
    if side.label in doing.outcomes:
        return _outcome(doing, side.label)
    if side.failure is not None:
        return CellChecked(status=CellStatus.FAILED, reason=side.failure)
    if side.passes:
        return CellChecked(status=CellStatus.OK, figures=figures)
    return CellChecked(status=CellStatus.WRONG, reason=_wrong(side), figures=figures)


def _outcome(doing: _CellAnswers, label: str) -> CellChecked:
    outcome = doing.outcomes[label]
    return CellChecked(
        status=CellStatus(outcome.kind.value),
        reason=outcome.message or outcome.detail,
        hint=outcome.hint,
    )


def _wrong(side: ValidatedSide) -> str:
    if side.blocked:
        return "; ".join(
            f"{one.role} {one.name} is {one.side or 'missing'}, the reference's {one.reference}"
            for one in side.blocked
        )
    bad = [one for one in (side.diff.outputs if side.diff else ()) if not one.passes]
    if not bad:
        return "it has no outputs"
    more = f", and {len(bad) - 1} more outputs" if len(bad) > 1 else ""
    return f"{bad[0].name}: {bad[0].reasons[0].message}{more}"
