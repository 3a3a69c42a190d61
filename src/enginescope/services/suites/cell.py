"""Run one cell of a suite: validate it, measure it, and return its row.

Compare a cell's outputs with the reference, as ``validate`` does.

Reference outputs of a session: the reference runs once for all backends of a model.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
import traceback
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from enginescope.analysis.errors.output_tolerance import request_of
from enginescope.analysis.suites.suite_row import CellChecked, CellTime, answer_figures, cell_row
from enginescope.analysis.validation.validation import ValidatedSide, Validation
from enginescope.backends.base import Answering
from enginescope.backends.registry import load_backend, parse_backend
from enginescope.core.errors import BackendError, EnginescopeError, StoreError
from enginescope.core.record import Record
from enginescope.core.sidecar import load_record, save_record
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.tensors.answer_files import has_expected
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job, Watcher
from enginescope.records.run.run import Outcome, Run
from enginescope.records.run.sample_set import Preprocessing, Sample
from enginescope.records.suite.suite import Cell, CellRow, CellStatus
from enginescope.runner.environment_fingerprint import environment_fingerprint
from enginescope.runner.inputs.collect_outputs import EndedBadly
from enginescope.runner.inputs.sample_sources import random_samples, samples_in
from enginescope.runner.jobs import subject_of
from enginescope.runner.session import Sink
from enginescope.runner.suites.suite_run import measure_cell, refusal_of
from enginescope.services.accuracy.sides import EXPECTED, REFERENCE, Side, Sides
from enginescope.services.accuracy.validation_run import Plan, ValidationRun

_RUN = "run.json"
_OUTPUTS = "answers"
#: Entries at a time. Models follow one another, and each has two: bindings and outputs.
_CAPACITY = 8


class ReferenceCache:
    """Least recently used cache of reference outputs, in an empty folder of the session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._keys: list[str] = []

    def load(self, job: Job, samples: Sequence[Sample], into: Path) -> Run | None:
        """Copy the outputs of the same job and samples into a folder, and return their run."""
        key = _key(job, samples)
        with self._lock:
            if key not in self._keys:
                return None
            self._keys.remove(key)
            self._keys.append(key)  # the most recently used entry is removed last
            home = self._folder / key
            if (home / _OUTPUTS).is_dir():
                shutil.copytree(home / _OUTPUTS, into, dirs_exist_ok=True)
            return load_record(Run, home, _RUN)

    def save(self, job: Job, samples: Sequence[Sample], run: Run, outputs: Path) -> None:
        """Store the outputs of a reference; remove the least recently used entry if full."""
        key = _key(job, samples)
        with self._lock:
            if key in self._keys:
                return
            while len(self._keys) >= _CAPACITY:
                shutil.rmtree(self._folder / self._keys.pop(0), ignore_errors=True)
            home = self._folder / key
            home.mkdir()
            if outputs.is_dir():
                shutil.copytree(outputs, home / _OUTPUTS)
            save_record(run, home, _RUN)
            self._keys.append(key)


def _key(job: Job, samples: Sequence[Sample]) -> str:
    files = [
        (str(file), file.stat().st_size, file.stat().st_mtime_ns)
        for sample in samples
        if sample.data_set is not None
        for file in sorted(Path(sample.data_set).iterdir())
    ]
    content = [job.subject, job.backend, job.workload, job.limits, tuple(samples), files]
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:32]


def checked_cell(
    cell: Cell, watcher: Watcher, references: ReferenceCache | None = None
) -> CellChecked:
    """Compare the outputs of a cell with the reference.

    The reference is the suite's; else the outputs of the data set; else the model on ONNX
    Runtime's CPU provider with one thread.

    Args:
        references: Reference outputs of former cells.

    Raises:
        EnginescopeError: The reference failed, or a sample cannot be read.
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
            preprocessing=Preprocessing(),
            folder=str(folder),
            keeps_inputs=False,
            tolerance=cell.checking.tolerance,
            asked=request_of(cell.checking),
            fail_fast=True,
        )
        validation = _CellValidation(plan, watcher, references)
        try:
            validation.bindings()
            validation.answers()
            compared = validation.compared(lambda _number: None)
        except _ReferenceError:
            if plan.sides.others[0].label not in validation.outcomes:
                raise
            return _outcome(validation, plan.sides.others[0].label)
        return _checked(compared, validation)


class _CellValidation(ValidationRun):
    """Adds the outcomes of failed processes, and the cache of reference outputs.

    The one place that overrides a private method of `ValidationRun`.
    """

    def __init__(self, plan: Plan, watcher: Watcher, references: ReferenceCache | None) -> None:
        def watch(_job: Job, progress: Progress | None) -> None:
            if progress is not None:
                watcher.progressed(0, progress)

        super().__init__(plan, watch)
        self._reference, self._references = plan.sides.reference, references
        self.outcomes: dict[str, Outcome] = {}

    def _answered(
        self, job: Job, side: Side, samples: Sequence[Sample], *, keeps_inputs: bool = False
    ) -> Run:
        cache = self._references if side is self._reference else None
        if cache is not None and (run := cache.load(job, samples, self._folder(side.label))):
            return run
        try:
            run = super()._answered(job, side, samples, keeps_inputs=keeps_inputs)
        except BackendError as error:
            cause = error.__cause__
            if isinstance(cause, EndedBadly):
                self.outcomes[side.label] = cause.outcome
            if side is self._reference:
                raise _ReferenceError(str(error), hint=error.hint) from error
            raise
        if cache is not None:
            cache.save(job, samples, run, self._folder(side.label))
        return run


class _ReferenceError(EnginescopeError):
    """The reference failed: the cell is not at fault, and has nothing to be compared with."""

    def __init__(self, text: str, *, hint: str | None) -> None:
        super().__init__("the reference failed", why=text, hint=hint)


def _samples(cell: Cell) -> tuple[tuple[Sample, ...], Job]:
    """Return a cell's samples, and its job without the inputs that the samples bring."""
    work = cell.job.workload
    samples: tuple[Sample, ...]
    if cell.data_sets:
        samples, shapes = samples_in([Path(name) for name in cell.data_sets]).samples, work.shapes
    else:
        samples, shapes = random_samples(cell.checking.samples, work.seed, work.shapes)
    workload = msgspec.structs.replace(work, data_set=None, shapes=shapes)
    return samples, msgspec.structs.replace(cell.job, workload=workload, layer_profile=False)


def _sides(cell: Cell, job: Job, samples: tuple[Sample, ...]) -> Sides:
    side = Side(label=f"{cell.model} · {cell.spec}", job=job)
    name = cell.checking.reference
    if name is not None and Path(name).is_dir():
        reference = Side(label=f"outputs in {name}", folder=str(Path(name).resolve()))
    elif name is None and samples and all(map(has_expected, samples)):
        reference = Side(label=EXPECTED)
    else:
        reference = Side(label="reference", job=_reference(job, name))
    return Sides(reference=reference, others=(side,), note=None)


def _reference(job: Job, name: str | None) -> Job:
    if name is None or name == "ort-cpu":
        name = REFERENCE
    if Path(name).is_file():
        subject = subject_of(Path(name))
        return msgspec.structs.replace(job, subject=subject, backend=parse_backend(REFERENCE))
    return msgspec.structs.replace(job, backend=parse_backend(name))


def _checked(compared: Validation, validation: _CellValidation) -> CellChecked:
    (side,) = compared.sides
    figures = answer_figures(compared.sides)
    if side.label in validation.outcomes:
        return _outcome(validation, side.label)
    if side.failure is not None:
        return CellChecked(status=CellStatus.FAILED, reason=side.failure)
    if side.passes:
        return CellChecked(status=CellStatus.OK, figures=figures)
    return CellChecked(status=CellStatus.WRONG, reason=_wrong(side), figures=figures)


def _outcome(validation: _CellValidation, label: str) -> CellChecked:
    outcome = validation.outcomes[label]
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


class CellContext(Record, frozen=True, kw_only=True):
    """Settings that all cells of a session share.

    Attributes:
        sink: Gets each run as soon as it has ended.
        command: The command line to record.
        fingerprint: Of this Python; ``None``: taken for each cell.
        references: Reference outputs of former cells.
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
        failed = CellChecked(status=CellStatus.FAILED, reason=str(error), hint=error.hint)
    except Exception as error:  # noqa: BLE001 - a bug in one cell does not stop the others
        where = traceback.extract_tb(error.__traceback__)[-1]
        failed = CellChecked(
            status=CellStatus.FAILED,
            reason=f"a bug of enginescope: {type(error).__name__}: {error}",
            hint=f"please report it: {where.name}, line {where.lineno} of {where.filename}",
        )
    time = CellTime(started=started, attempts=attempts, versions=versions)
    return cell_row(cell, (), time, failed)


def now() -> str:
    """Return the time as rows have it: UTC, ISO 8601, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
