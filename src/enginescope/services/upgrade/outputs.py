"""Outputs of one model on two stacks: against a reference, and against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

from enginescope.analysis.upgrade.output_row import Drift, drift_of, output_gap, output_row
from enginescope.analysis.validation.validation import Validation
from enginescope.backends.registry import read_spec
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import Record, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.notice import Notice
from enginescope.records.run.job import BackendSpec, Job
from enginescope.records.run.run import Run
from enginescope.records.run.sample_set import AnswerRequest, Sample
from enginescope.records.verdict.upgrade import (
    OUTPUTS,
    Stack,
    UpgradeKind,
    UpgradeReason,
    UpgradeRow,
)
from enginescope.runner.model_inputs import settled_workload
from enginescope.services.accuracy.output_files import choose_samples
from enginescope.services.accuracy.request import ValidateRequest, check_request
from enginescope.services.accuracy.sides import Side, Sides, reference_side, spanning_jobs
from enginescope.services.accuracy.validation_run import Plan, ValidationRun
from enginescope.services.upgrade.kept_outputs import KeptOutputs
from enginescope.services.upgrade.stacks import StackRunner, is_own

#: Called before each process that returns outputs, with what it does.
Progress = Callable[[str], None]


class ComparedOutputs(Record, frozen=True, kw_only=True):
    """The row of the outputs, and what they were compared with."""

    row: UpgradeRow
    reference: str | None = None
    notices: tuple[Notice, ...] = ()


class StackedSides(Record, frozen=True, kw_only=True):
    """A reference, and each stack as often as it is repeated."""

    reference: Side
    old: tuple[Side, ...]
    new: tuple[Side, ...]

    @property
    def every(self) -> tuple[Side, ...]:
        """All sides but the reference, the old stack's first."""
        return (*self.old, *self.new)


def compare_outputs(
    requests: tuple[ValidateRequest, ValidateRequest],
    stacks: tuple[Stack, Stack],
    repeats: int,
    runner: StackRunner,
    progress: Progress,
    kept: KeptOutputs | None = None,
) -> ComparedOutputs:
    """Compare the outputs of a model on two stacks.

    Args:
        requests: Of the old and of the new stack: they differ in the backend alone.
        repeats: Fresh processes of each stack.
        kept: Gets the outputs.

    Raises:
        UsageError: The request contradicts itself or the model.
    """
    check_request(requests[0])
    model = requests[0].models[0]
    workload = settled_workload([model], requests[0].workload)
    chosen = choose_samples(model, requests[0].samples, workload)
    samples = chosen.samples
    settled = tuple(
        replace(one, workload=replace(workload, shapes=chosen.shapes)) for one in requests
    )
    sides = _sides((settled[0], settled[1]), stacks, repeats, samples)
    with temporary_folder() as folder:
        plan = Plan(
            sides=Sides(reference=sides.reference, others=sides.every, note=None),
            samples=samples,
            preprocessing=settled[0].preprocessing,
            folder=str(folder),
            keeps_inputs=False,
            tolerance=settled[0].tolerance,
            asked=settled[0].output_limits,
        )
        collect = _Collector(sides, runner, progress)
        run = ValidationRun(plan, lambda _job, _progress: None, collect.collect)
        try:
            run.bindings()
            run.answers()
        except BackendError as error:
            return ComparedOutputs(row=_open(error, sides.reference))
        found = run.compared(lambda _number: None)
        row = _row(found, run, sides, samples)
        if kept is not None:
            kept.keep(str(model), run, (sides.reference, *sides.every), samples)
    return ComparedOutputs(row=row, reference=sides.reference.label, notices=found.notices)


def _sides(
    requests: tuple[ValidateRequest, ValidateRequest],
    stacks: tuple[Stack, Stack],
    repeats: int,
    samples: Sequence[Sample],
) -> StackedSides:
    by_stack: list[tuple[Side, ...]] = []
    for request, stack in zip(requests, stacks, strict=True):
        (job,) = spanning_jobs(request, samples)
        placed = on_stack(job, stack)
        by_stack.append(
            tuple(
                Side(label=f"{job.subject.name} · {placed.backend} #{number}", job=placed)
                for number in range(1, repeats + 1)
            )
        )
    return StackedSides(
        reference=_reference(requests[0], stacks, samples), old=by_stack[0], new=by_stack[1]
    )


def on_stack(job: Job, stack: Stack) -> Job:
    """Return the job as a stack's Python runs it."""
    return replace(job, backend=replace(job.backend, environment=stack.name))


def _reference(
    request: ValidateRequest, stacks: tuple[Stack, Stack], samples: Sequence[Sample]
) -> Side:
    """Return the reference; a backend may name the stack that computes it."""
    backend, name = request.reference, None
    if backend is not None and not Path(backend).exists():
        spec = read_spec(backend)
        backend, name = str(replace(spec, environment=None)), spec.environment
    stack = next((one for one in stacks if one.name == name), None)
    if name is not None and stack is None:
        names = " and ".join(one.name for one in stacks)
        raise UsageError(f"`reference` {request.reference}", why=f"the stacks are {names}")
    is_elsewhere = stack is not None and not is_own(stack)
    side = reference_side(replace(request, reference=backend, is_elsewhere=is_elsewhere), samples)
    if side.job is None:
        return side
    job = on_stack(side.job, stack) if stack is not None else side.job
    return Side(label=f"{side.label}{_where(stack)}", job=job)


def _where(stack: Stack | None) -> str:
    return f" in {stack.name}" if stack is not None else " in this Python"


class _Collector:
    """Collects outputs of each side; the repeats of a stack share its bindings."""

    def __init__(self, sides: StackedSides, runner: StackRunner, progress: Progress) -> None:
        self._first = {
            side.label: (sides.old if side in sides.old else sides.new)[0].label
            for side in sides.every
        }
        self._runner, self._progress = runner, progress
        self._bindings: dict[str, Run] = {}

    def collect(self, side: Side, request: AnswerRequest, run_here: Callable[[], Run]) -> Run:
        """Run a side in its Python."""
        first = self._first.get(side.label, side.label)
        if not request.samples and first in self._bindings:
            return self._bindings[first]
        what = "outputs" if request.samples else "inputs and outputs"
        self._progress(f"{what} of {side.label} …")
        run = self._runner.collect_outputs(side, request, run_here)
        if not request.samples:
            self._bindings[first] = run
        return run


def _row(
    validation: Validation, run: ValidationRun, sides: StackedSides, samples: Sequence[Sample]
) -> UpgradeRow:
    repeats = len(sides.old)
    drift = _drift(run, sides, range(len(samples)))
    if not samples or len(validation.skipped) == len(samples):
        return _no_outputs("no sample could be read")
    return output_row(validation.sides[:repeats], validation.sides[repeats:], drift)


def _drift(run: ValidationRun, sides: StackedSides, samples: Sequence[int]) -> Drift | None:
    """Return the drift over `samples`, one sample in memory at a time."""
    labels = [side.label for side in sides.every]
    if not all(map(run.has_answers, labels)):
        return None
    skipped = {one.sample for one in run.skipped}
    gaps: dict[tuple[int, int], list[float]] = {
        pair: [] for pair in combinations(range(len(labels)), 2)
    }
    for number in samples:
        if number in skipped:
            continue
        outputs = [run.answers_of(label, number) for label in labels]
        for (a, b), largest in gaps.items():
            largest.append(output_gap(outputs[a], outputs[b]))
    return drift_of(gaps, len(sides.old))


def _open(error: BackendError, reference: Side) -> UpgradeRow:
    return UpgradeRow(
        metric=OUTPUTS,
        kind=UpgradeKind.INCONCLUSIVE,
        reason=UpgradeReason.NO_REFERENCE.value,
        message=f"the reference {reference.label} failed: {error}",
    )


def _no_outputs(why: str) -> UpgradeRow:
    return UpgradeRow(
        metric=OUTPUTS,
        kind=UpgradeKind.INCONCLUSIVE,
        reason=UpgradeReason.NO_OUTPUTS.value,
        message=why,
    )


def no_outputs(spec: BackendSpec) -> ComparedOutputs:
    """Return the row of a backend that returns no outputs."""
    name = replace(spec, environment=None)
    return ComparedOutputs(row=_no_outputs(f"{name} does not return outputs"))


def recorded_outputs() -> UpgradeRow:
    """Return the row of recorded runs, which have no outputs to compare."""
    return _no_outputs("recorded runs have no outputs to compare")
