"""Run one cell of a suite: compare its outputs with the reference, measure it, return its row."""

import traceback
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from enginescope.analysis.errors.output_tolerance import request_of
from enginescope.analysis.suites.suite_row import CellChecked, CellTime, answer_figures, cell_row
from enginescope.analysis.validation.validation import ValidatedSide
from enginescope.backends.base import Answering
from enginescope.backends.registry import load_backend, parse_backend
from enginescope.core.errors import BackendError, EnginescopeError, StoreError, UnsupportedError
from enginescope.core.record import Record, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.tensors.tensor_files import has_expected
from enginescope.records.progress import Progress
from enginescope.records.run.job import CPU_BACKEND, Job, Watcher
from enginescope.records.run.run import Run
from enginescope.records.run.sample_set import Sample
from enginescope.records.suite.suite import Cell, CellRow, CellStatus
from enginescope.runner.environment_fingerprint import environment_fingerprint
from enginescope.runner.inputs.collect_outputs import EndedBadly
from enginescope.runner.inputs.sample_feeds import random_samples, samples_in
from enginescope.runner.jobs import subject_of
from enginescope.runner.session import Sink
from enginescope.runner.suites.suite_cells import measure_cell, refusal_of
from enginescope.services.accuracy.sides import EXPECTED, REFERENCE, Side, Sides
from enginescope.services.accuracy.validation_run import Plan, ValidationRun
from enginescope.services.suites.reference_cache import ReferenceCache


def checked_cell(
    cell: Cell, watcher: Watcher, references: ReferenceCache | None = None
) -> CellChecked:
    """Compare the outputs of a cell with the reference; end as the reference does if it fails.

    The reference is the suite's; else the outputs of the data set; else the model on ONNX Runtime's
    CPU provider with one thread; `references` has the outputs of former cells.
    """
    refused = refusal_of(cell)
    if refused is not None:
        return CellChecked(status=CellStatus.UNSUPPORTED, reason=refused.message, hint=refused.hint)
    if not isinstance(load_backend(cell.job.backend.name), Answering):
        # it can still be measured, as a tool that times by itself
        status = CellStatus.UNSUPPORTED if cell.mode == "validate" else CellStatus.OK
        why = f"{cell.job.backend.name} does not return outputs: they were not compared"
        return CellChecked(status=status, reason=why)
    samples, job = _samples(cell)
    with temporary_folder() as folder:
        plan = Plan(
            sides=_sides(cell, job, samples),
            samples=samples,
            folder=str(folder),
            tolerance=cell.checking.tolerance,
            asked=request_of(cell.checking),
            fail_fast=True,
        )
        validation = _CellValidation(plan, watcher, references)
        try:
            validation.bindings(reference_last=True)
            if validation.failed is None:
                validation.answers()
        except _ReferenceError as error:
            return error.checked
        if validation.failed is not None:
            return validation.failed
        compared = validation.compared(lambda _number: None)
    (side,) = compared.sides
    figures = answer_figures(compared.sides)
    if side.passes:
        return CellChecked(status=CellStatus.OK, figures=figures)
    return CellChecked(status=CellStatus.WRONG, reason=_wrong(side), figures=figures)


class _CellValidation(ValidationRun):
    """Adds the outcome of a side that failed (`failed`), and the cache of reference outputs.

    The one place that overrides a private method of `ValidationRun`.
    """

    def __init__(self, plan: Plan, watcher: Watcher, references: ReferenceCache | None) -> None:
        def watch(_job: Job, progress: Progress | None) -> None:
            if progress is not None:
                watcher.progressed(0, progress)

        super().__init__(plan, watch)
        self._reference, self._references = plan.sides.reference, references
        self.failed: CellChecked | None = None

    def _answered(
        self, job: Job, side: Side, samples: Sequence[Sample], *, keeps_inputs: bool = False
    ) -> Run:
        if side is self._reference:
            # a backend that is not there, or cannot load the model, is known by now
            if self.failed is not None:
                raise _ReferenceError(self.failed)
            return self._referred(job, side, samples, keeps_inputs=keeps_inputs)
        try:
            return super()._answered(job, side, samples, keeps_inputs=keeps_inputs)
        except BackendError as error:
            self.failed = _failed(error)
            raise

    def _referred(
        self, job: Job, side: Side, samples: Sequence[Sample], *, keeps_inputs: bool
    ) -> Run:
        def run() -> Run:
            return super(_CellValidation, self)._answered(
                job, side, samples, keeps_inputs=keeps_inputs
            )

        try:
            if self._references is None:
                return run()
            return self._references.once(job, samples, self._folder(side.label), run)
        except BackendError as error:
            failed = _failed(error)
            reason = f"the reference failed: {error}"
            raise _ReferenceError(replace(failed, reason=reason)) from error


class _ReferenceError(EnginescopeError):
    """A cell has nothing to be compared with: what it ends as."""

    def __init__(self, checked: CellChecked) -> None:
        super().__init__("no reference", why=checked.reason, hint=checked.hint)
        self.checked = checked


def _failed(error: EnginescopeError) -> CellChecked:
    cause = error.__cause__
    if isinstance(cause, EndedBadly):
        outcome = cause.outcome
        status, reason = CellStatus(outcome.kind.value), outcome.message or outcome.detail
        return CellChecked(status=status, reason=reason, hint=outcome.hint)
    is_of_here = isinstance(error, UnsupportedError)
    status = CellStatus.UNSUPPORTED if is_of_here else CellStatus.FAILED
    return CellChecked(status=status, reason=str(error), hint=error.hint)


def _samples(cell: Cell) -> tuple[tuple[Sample, ...], Job]:
    work = cell.job.workload
    samples: tuple[Sample, ...]
    if cell.data_sets:
        samples, shapes = samples_in([Path(name) for name in cell.data_sets]).samples, work.shapes
    else:
        samples, shapes = random_samples(cell.checking.samples, work.seed, work.shapes)
    workload = replace(work, data_set=None, shapes=shapes)
    return samples, replace(cell.job, workload=workload, layer_profile=False)


def _sides(cell: Cell, job: Job, samples: tuple[Sample, ...]) -> Sides:
    side = Side(label=f"{cell.model} · {cell.spec}", job=job)
    name = cell.checking.reference
    if name is not None and Path(name).is_dir():
        reference = Side(label=f"outputs in {name}", folder=str(Path(name).resolve()))
    elif name is None and samples and all(map(has_expected, samples)):
        reference = Side(label=EXPECTED)
    else:
        reference = Side(label="reference", job=_reference(job, name))
    return Sides(reference=reference, others=(side,))


def _reference(job: Job, name: str | None) -> Job:
    if name is None or name == CPU_BACKEND:
        name = REFERENCE
    if Path(name).is_file():
        return replace(job, subject=subject_of(Path(name)), backend=parse_backend(REFERENCE))
    return replace(job, backend=parse_backend(name))


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


class CellContext(Record, frozen=True, kw_only=True):
    """Settings that all cells of a session share; `sink` gets each run as soon as it has ended.

    Without a `fingerprint`, of this Python, one is taken for each cell. `references` has the
    reference outputs of former cells.
    """

    sink: Sink
    command: str | None = None
    fingerprint: Mapping[str, str] | None = None
    watcher: Watcher = Watcher()
    references: ReferenceCache | None = None


def run_cell(cell: Cell, context: CellContext) -> CellRow:
    """Validate and measure a cell as its mode says, each in processes of its own.

    Every failure becomes a row, except a store that cannot be written and a signal to exit.
    """
    started = now()
    versions = context.fingerprint
    if versions is None:
        versions = environment_fingerprint(len(cell.job.conditions.pinned_cores) or None)
    checked: CellChecked | None = None
    runs: tuple[Run, ...] = ()
    attempts = 1
    try:
        if cell.mode != "benchmark":
            checked = checked_cell(cell, context.watcher, context.references)
        if checked is None or (cell.mode == "both" and checked.status is CellStatus.OK):
            runs, attempts = measure_cell(
                cell, context.sink, command=context.command, watcher=context.watcher
            )
        return cell_row(
            cell, runs, CellTime(started=started, attempts=attempts, versions=versions), checked
        )
    except StoreError:  # every further cell would fail alike
        raise
    except EnginescopeError as error:
        failed = _failed(error)
    except Exception as error:  # noqa: BLE001 - a bug in one cell does not stop the others
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"a bug of enginescope: {type(error).__name__}: {error}"
        hint = f"please report it: {where.name}, line {where.lineno} of {where.filename}"
        failed = CellChecked(status=CellStatus.FAILED, reason=reason, hint=hint)
    time = CellTime(started=started, attempts=attempts, versions=versions)
    return cell_row(cell, (), time, failed)


def now() -> str:
    """Return the time as rows have it: UTC, ISO 8601, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
