"""Outputs of one model on two stacks: against a reference, and against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

from enginescope.analysis.upgrade.rows import Drift, drift_of, open_row, output_gap, output_row
from enginescope.backends.registry import read_spec
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import Record, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.notice import Notice
from enginescope.records.run.job import BackendSpec, Job
from enginescope.records.run.run import Run
from enginescope.records.run.sample_set import AnswerRequest, Sample
from enginescope.records.verdict.upgrade import OUTPUTS, Stack, UpgradeReason, UpgradeRow
from enginescope.runner.model_inputs import settled_workload
from enginescope.services.accuracy.output_files import choose_samples
from enginescope.services.accuracy.request import ValidateRequest, check_request
from enginescope.services.accuracy.sides import Side, Sides, reference_side, spanning_jobs
from enginescope.services.accuracy.validation_run import Plan, ValidationRun
from enginescope.services.upgrade.evidence import KeptOutputs
from enginescope.services.upgrade.stacks import StackRunner, is_own

#: Called before each process that returns outputs, with what it does.
Progress = Callable[[str], None]


class ComparedOutputs(Record, frozen=True, kw_only=True):
    """The row of the outputs, and what they were compared with."""

    row: UpgradeRow
    reference: str | None = None
    notices: tuple[Notice, ...] = ()


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
    """
    check_request(requests[0])
    model = requests[0].models[0]
    workload = settled_workload([model], requests[0].workload)
    chosen = choose_samples(model, requests[0].samples, workload)
    samples, workload = chosen.samples, replace(workload, shapes=chosen.shapes)
    settled = [replace(request, workload=workload) for request in requests]
    reference = _reference(settled[0], stacks, samples)
    old, new = (
        _repeated(request, stack, repeats, samples)
        for request, stack in zip(settled, stacks, strict=True)
    )
    sides = (*old, *new)

    def collect(side: Side, request: AnswerRequest, run_here: Callable[[], Run]) -> Run:
        what = "outputs" if request.samples else "inputs and outputs"
        progress(f"{what} of {side.label}")
        return runner.collect_outputs(side, request, run_here)

    with temporary_folder() as folder:
        plan = Plan(
            sides=Sides(reference=reference, others=sides),
            samples=samples,
            folder=str(folder),
            tolerance=settled[0].tolerance,
        )
        run = ValidationRun(plan, collect=collect, alike=lambda side: id(side.job))
        try:
            run.bindings()
            run.answers()
        except BackendError as error:
            why = f"the reference {reference.label} failed: {error}"
            return ComparedOutputs(row=open_row(OUTPUTS, UpgradeReason.NO_REFERENCE, why))
        found = run.compared(lambda _number: None)
        if not samples or len(found.skipped) == len(samples):
            row = open_row(OUTPUTS, UpgradeReason.NO_OUTPUTS, "no sample could be read")
        else:
            drift = _drift(run, [side.label for side in sides], range(len(samples)))
            row = output_row(found.sides[:repeats], found.sides[repeats:], drift)
        if kept is not None:
            kept.keep(str(model), run, (reference, *sides), samples)
    return ComparedOutputs(row=row, reference=reference.label, notices=found.notices)


def _repeated(
    request: ValidateRequest, stack: Stack, repeats: int, samples: Sequence[Sample]
) -> tuple[Side, ...]:
    """Return the sides of a stack, which share a job, and so what it takes and gives."""
    (job,) = spanning_jobs(request, samples)
    placed = on_stack(job, stack)
    return tuple(
        Side(label=f"{job.subject.name} · {placed.backend} #{number}", job=placed)
        for number in range(1, repeats + 1)
    )


def on_stack(job: Job, stack: Stack) -> Job:
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
    if stack is None:
        return Side(label=f"{side.label} in this Python", job=side.job)
    return Side(label=f"{side.label} in {stack.name}", job=on_stack(side.job, stack))


def _drift(run: ValidationRun, labels: Sequence[str], samples: Sequence[int]) -> Drift | None:
    """Return the drift over `samples`, one sample in memory at a time.

    Args:
        labels: Of the sides, those of the old stack first.
    """
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
    return drift_of(gaps, len(labels) // 2)


def no_outputs(spec: BackendSpec) -> ComparedOutputs:
    name = replace(spec, environment=None)
    why = f"{name} does not return outputs"
    return ComparedOutputs(row=open_row(OUTPUTS, UpgradeReason.NO_OUTPUTS, why))
