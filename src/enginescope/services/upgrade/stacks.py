"""The two stacks of an upgrade: Pythons and containers that run jobs, and outputs of each."""

import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from os import fspath
from pathlib import Path

from enginescope.analysis.upgrade.rows import Drift, drift_of, open_row, output_gap, output_row
from enginescope.analysis.validation.validation import Validation
from enginescope.backends.registry import is_environment, read_spec
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import Record, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.notice import Notice
from enginescope.records.run.job import BackendSpec, Job, Watcher
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.records.run.sample_set import AnswerRequest, Sample
from enginescope.records.verdict.upgrade import (
    OUTPUTS,
    Stack,
    UpgradeKind,
    UpgradeReason,
    UpgradeRow,
)
from enginescope.runner.environment_fingerprint import environment_fingerprint
from enginescope.runner.fleet.container import Container, has_gpu, mounts_of_job
from enginescope.runner.fleet.environment import Environment
from enginescope.runner.model_inputs import settled_workload
from enginescope.runner.session import Sink, makes_first, now, run_jobs
from enginescope.services.accuracy.output_files import choose_samples
from enginescope.services.accuracy.request import BisectionRequest, ValidateRequest, check_request
from enginescope.services.accuracy.sides import Side, Sides, reference_side, spanning_jobs
from enginescope.services.accuracy.validation_run import Plan, ValidationRun, Watch, collect_outputs
from enginescope.services.bisection.bisect import add_bisection
from enginescope.services.upgrade.evidence import KeptOutputs
from enginescope.services.upgrade.remote_job import REMOTE_JOB, packed_job, unpacked_run
from enginescope.store.archive import Store

#: Names of the stacks that have none.
OLD, NEW = "old", "new"
#: Beside what a job may take by itself: starting, and sending back.
_BESIDE_S = 120.0
#: Name of an image: no option of the tool, and no path of a folder.
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")


def parse_stack(text: str, usual: str) -> Stack:
    """Return the stack in ``[NAME=]PYTHON`` or ``[NAME=]docker:IMAGE``, without its versions."""
    name, equals, python = text.rpartition("=")
    if not equals:
        name = usual
    if not is_environment(name):
        raise UsageError(f"stack {name!r}", why="a name has letters, digits, . _ and - alone")
    container = Stack(name=name, python=python).container
    if container is not None:
        if not _IMAGE.fullmatch(container[1]):
            why = "not the name of an image"
            raise UsageError(f"stack {python}", why=why, hint=f"{container[0]}:enginescope:cpu")
        return Stack(name=name, python=python)
    path = os.path.expanduser(python)  # noqa: PTH111 - Path's raises where there is no such user
    found = shutil.which(path) if "/" not in path else None
    # a link to a Python is the environment
    return Stack(name=name, python=found or os.path.abspath(path))  # noqa: PTH100


def with_versions(stack: Stack) -> Stack:
    """Return the stack with versions and hardware as its Python sees them."""
    if stack.python is None or is_own(stack):
        return replace(stack, versions=environment_fingerprint())
    return replace(stack, versions=_place(stack).conditions())


def _place(stack: Stack) -> Environment | Container:
    if stack.container is None:
        return Environment(stack.name, stack.python or "")
    tool, image = stack.container
    return Container(image, tool, needed_by=stack.python or "")


def is_own(stack: Stack) -> bool:
    return stack.python == sys.executable


class StackRunner:
    """Runs jobs in the stack that ``job.backend.environment`` names; without a name, here."""

    def __init__(self, stacks: Sequence[Stack], command: str | None) -> None:
        self._places: Mapping[str, Environment | Container] = {
            stack.name: _place(stack) for stack in stacks if stack.python and not is_own(stack)
        }
        self._command = command

    def run_jobs(
        self,
        jobs: Sequence[Job],
        sink: Sink,
        *,
        command: str | None = None,
        watcher: Watcher | None = None,
    ) -> tuple[Run, ...]:
        """Run jobs as `runner.session.run_jobs` does; what nothing came back of has failed."""
        runs: list[Run] = []
        for index, job in enumerate(jobs):
            place = self._place(job)
            if place is None:
                runs += run_jobs((job,), sink, command=command, watcher=watcher)
                continue
            if watcher is not None:
                watcher.started(index, job)
            with temporary_folder() as folder:
                try:
                    run = self._exchanged(job, place, folder)
                except BackendError as error:
                    failed = Outcome(kind=OutcomeKind.FAILED, message=str(error), hint=error.hint)
                    run_id, created = secrets.token_hex(6), now()
                    run = Run(
                        id=run_id, created=created, origin="measured", job=job, outcome=failed
                    )
                sink(run)
            runs.append(run)
        return tuple(runs)

    def collect_outputs(
        self, side: Side, request: AnswerRequest, run_here: Callable[[], Run]
    ) -> Run:
        """Run a side on samples in its Python; the outputs go into ``request.folder``."""
        place = self._place(side.job) if side.job else None
        if side.job is None or place is None:
            return run_here()
        with temporary_folder() as folder:
            return self._exchanged(replace(side.job, answering=request), place, folder)

    def _place(self, job: Job) -> Environment | Container | None:
        return self._places.get(job.backend.environment or "")

    def _exchanged(self, job: Job, place: Environment | Container, folder: Path) -> Run:
        limits = job.limits
        build_s = limits.build_timeout_s if makes_first(job) else 0.0
        limit_s = limits.timeout_s + build_s + _BESIDE_S
        task = packed_job(job, self._command)
        if isinstance(place, Environment):
            data = place.exchange(REMOTE_JOB, task, limit_s)
        else:
            mounts, label = mounts_of_job(job), job.backend.environment or ""
            data = place.exchange(
                REMOTE_JOB, task, limit_s, mounts, label=label, uses_gpu=has_gpu()
            )
        return unpacked_run(data, Store(folder / "store"))


#: Called before each process that returns outputs, with what it does.
Progress = Callable[[str], None]


class ComparedOutputs(Record, frozen=True, kw_only=True):
    """The row of the outputs, what they were compared with, and the node where the error starts."""

    row: UpgradeRow
    reference: str | None = None
    notices: tuple[Notice, ...] = ()
    origin: str | None = None


def compare_outputs(
    requests: tuple[ValidateRequest, ValidateRequest],
    stacks: tuple[Stack, Stack],
    repeats: int,
    runner: StackRunner,
    progress: Progress,
    kept: KeptOutputs | None = None,
    reduced: Path | None = None,
) -> ComparedOutputs:
    """Compare the outputs of a model on two stacks, in `repeats` fresh processes of each.

    The requests, of the old and of the new stack, differ in the backend alone. `kept` gets the
    outputs; `reduced`, a new folder, the part of the model that fails alone on the new stack.
    """
    check_request(requests[0])
    model = requests[0].models[0]
    workload = settled_workload([model], requests[0].workload)
    chosen = choose_samples(model, requests[0].sample_request, workload)
    samples, workload = chosen.samples, replace(workload, shapes=chosen.shapes)
    settled = [replace(request, workload=workload) for request in requests]
    reference = _reference(settled[0], stacks, samples)
    old, new = (
        _repeated(request, stack, repeats, samples)
        for request, stack in zip(settled, stacks, strict=True)
    )
    sides = (*old, *new)

    def collect(side: Side, request: AnswerRequest, run_here: Callable[[], Run]) -> Run:
        progress(f"{'outputs' if request.samples else 'inputs and outputs'} of {side.label}")
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
        origin = None
        if reduced is not None and row.kind is UpgradeKind.WORSE:
            found, origin = _reduced(found, plan, repeats, runner, reduced)
    return ComparedOutputs(row=row, reference=reference.label, notices=found.notices, origin=origin)


def _reduced(
    found: Validation, plan: Plan, number: int, runner: StackRunner, folder: Path
) -> tuple[Validation, str | None]:
    """Search the error of a side; return the notices of the search and the node of the start."""
    compared, side = found.sides[number], plan.sides.others[number]
    if compared.diff is None:
        return found, None  # it returns no outputs

    def run_samples(job: Job, request: AnswerRequest, watch: Watch) -> Run:
        own = Side(label=compared.label, job=job)
        return runner.collect_outputs(own, request, lambda: collect_outputs(job, request, watch))

    sides = Sides(reference=plan.sides.reference, others=(side,))
    alone = replace(plan, sides=sides, run_samples=run_samples)
    asked = BisectionRequest(bisect=True, extract=folder)
    searched = add_bisection(
        replace(found, sides=(compared,)), alone, lambda _job, _progress: None, asked
    )
    inside = searched.sides[0].inside
    if inside is None or inside.first_step is None:
        return searched, None
    start = inside.first_step.pair
    notices = (*searched.notices, *inside.notices)
    return replace(searched, notices=notices), f"{start.node} ({start.operator})"


def _repeated(
    request: ValidateRequest, stack: Stack, repeats: int, samples: Sequence[Sample]
) -> tuple[Side, ...]:
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
        spec = read_spec(fspath(backend))
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
    """Return the drift over `samples`, one in memory at a time; labels of the old stack first."""
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
