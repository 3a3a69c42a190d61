"""``validate``: do models and engines still give the right outputs?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.analysis.tasks.base import parse_task
from enginescope.analysis.tasks.task_scoring import TaskLimit, TaskScoring
from enginescope.analysis.validation.validation import Validation
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import copied, replace
from enginescope.core.suggest import did_you_mean
from enginescope.judge.units import counted
from enginescope.records.run.passport import EngineValidation
from enginescope.runner.model_inputs import settled_workload
from enginescope.services.accuracy.output_files import (
    choose_samples,
    output_folder,
    with_picture_shapes,
    work_folder,
    write_files,
)
from enginescope.services.accuracy.request import ValidateRequest, ValidationObserver, check_request
from enginescope.services.accuracy.sides import sides_of
from enginescope.services.accuracy.validation_run import Plan, ValidationRun
from enginescope.services.bisection.bisect import add_bisection, check_bisectable
from enginescope.services.declared import File, documented, path_of
from enginescope.services.store_access import made_now, own_command, store_at
from enginescope.store.machine_records import VALIDATIONS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from enginescope.services.keywords import ValidateKeywords

#: Names of skipped files that a warning has.
_MOST_NAMED = 3


def validate_models(request: ValidateRequest, observer: ValidationObserver) -> Validation:
    """Compare the outputs of models and engines with a reference, given the same inputs."""
    check_request(request)
    inside, task = request.bisection, RequestedTask(request) if request.task else None
    output, samples, targets = None, request.sample_request, path_of(request.targets)
    if request.output is not None:
        read = [*samples.data, *samples.images, *([targets] if targets else [])]
        output = output_folder(Path(request.output), request.models, read, request.reference)
    with work_folder(output, keeps_samples=not request.skip_output_save) as folder:
        plan = _plan(request, folder, observer)
        if inside.is_wanted:
            check_bisectable(plan, inside.extract)
        observer.comparison_started(len(plan.samples))
        run = ValidationRun(plan, observer.side_progressed)
        run.bindings()
        observer.check_cancelled()
        run.answers()
        result = run.compared(observer.sample_compared)
        if task is not None:
            result = add_task_figures(result, run, task, observer.sample_compared)
        if inside.is_wanted:
            observer.check_cancelled()
            result = add_bisection(result, plan, observer.side_progressed, inside)
        result = replace(result, **made_now(request.command))
        _record(result, plan, request, observer)
        return write_files(result, run, output) if output is not None else result


def _record(
    result: Validation, plan: Plan, request: ValidateRequest, observer: ValidationObserver
) -> None:
    for side, compared in zip(plan.sides.others, result.sides, strict=True):
        subject = side.job.subject if side.job is not None else None
        if subject is None or subject.kind != "engine" or subject.sha256 is None:
            continue
        if compared.diff is None:
            continue
        figures = (output.figures for output in compared.diff.outputs)
        errors = (known.error_to_spread for known in figures if known is not None)
        validation = EngineValidation(
            engine_sha256=subject.sha256,
            reference=result.reference,
            passes=compared.passes,
            tolerance=compared.tolerance,
            samples=len(result.samples) - len(result.skipped),
            error_to_spread=max((error for error in errors if error is not None), default=None),
            created=result.created,
        )
        try:
            VALIDATIONS.record(store_at(request.store).path, validation)
        except EnginescopeError as error:
            observer.warn(f"the validation is not stored: {error}")


def _plan(request: ValidateRequest, folder: Path, observer: ValidationObserver) -> Plan:
    named = path_of(request.reference)
    models = [*request.models, *([named] if named is not None and named.is_file() else [])]
    workload = settled_workload(models, request.workload)
    chosen = choose_samples(request.models[0], request.sample_request, workload)
    if chosen.skipped:
        more = " …" if len(chosen.skipped) > _MOST_NAMED else ""
        what = counted(len(chosen.skipped), "file is not a sample", "files are not samples")
        observer.warn(f"{what}: {', '.join(chosen.skipped[:_MOST_NAMED])}{more}")
    if (count := len(chosen.samples)) < (request.samples or 0):
        observer.warn(f"the data has only {counted(count, 'sample')}: enginescope uses no more")
    samples = with_picture_shapes(chosen.samples, request.models, request.preprocessing)
    settled = replace(request, workload=replace(workload, shapes=chosen.shapes))
    return copied(
        Plan,
        request,
        sides=sides_of(settled, samples),
        samples=samples,
        folder=str(folder),
        keeps_inputs=request.output is not None and not request.skip_output_save,
        tolerance=tolerance_named(request.tolerance).name if request.tolerance else None,
        asked=request.output_limits,
        output_names=dict(request.map),
    )


@documented(ValidateRequest)
def validate(*models: File, **options: Unpack[ValidateKeywords]) -> Validation:
    """Compare the outputs of models and engines with a reference, given the same inputs.

    A shape that the workload names again is a further set of samples.

    Returns:
        ``found.passes``; ``found.sides[0].diff.outputs[0].figures.rmse`` and the rest.
        ``found.sides[0].inside`` is where an error starts, ``found.task`` has the task's figures.

    Raises:
        UsageError: A file is not there, the request contradicts the model, or there is nothing to
            compare.
        UnsupportedError, BackendError: The reference could not run. What a side could not is its
            ``failure``.
    """
    request = ValidateRequest(models=tuple(map(Path, models)), command=own_command(), **options)
    return validate_models(request, ValidationObserver())


class RequestedTask:
    """A task with its targets and limits."""

    def __init__(self, request: ValidateRequest) -> None:
        self.text = request.task or ""
        self.task = parse_task(self.text)
        self.path = path_of(request.targets)
        self.targets = self.task.targets(self.path) if self.path else None
        self.limits = self._known(request.task_limits)
        fit = request.preprocessing.fit
        if self.targets is not None and fit not in self.task.fits:
            why = f"targets of {self.task.name} refer to the whole image"
            raise UsageError(f"`image_fit` {fit}", why=why, hint=f"`image_fit` {self.task.fits[0]}")

    def _known(self, given: Mapping[str, float]) -> tuple[TaskLimit, ...]:
        has_targets = self.targets is not None
        metrics = self.task.metrics if has_targets else self.task.agreement_metrics
        known = [metric.name for metric in metrics]
        for name in given:
            if name not in known:
                where = "" if has_targets else " without targets"
                hint = did_you_mean(name, known)
                raise UsageError(f"{self.task.name} has no metric {name!r}{where}", hint=hint)
        return tuple(TaskLimit(metric=name, value=value) for name, value in given.items())


def add_task_figures(
    found: Validation, doing: ValidationRun, asked: RequestedTask, progress: Callable[[int], None]
) -> Validation:
    """Return the comparison with the task's figures of all sides that gave outputs."""
    scoring = TaskScoring(
        asked.task,
        asked.text,
        doing.answers_of,
        found.samples,
        asked.limits,
        skipped={one.sample: one.why for one in found.skipped},
        fail_fast=doing.fails_fast,
    )
    labels = [side.label for side in found.sides if doing.has_answers(side.label)]
    if asked.targets is not None and doing.has_answers(found.reference):
        labels.insert(0, found.reference)
    if not labels:  # nobody answered, which is said of each
        return found
    if asked.targets is None:
        report = scoring.against_reference(found.reference, labels, progress)
    else:
        report = scoring.against_targets(labels, asked.targets, str(asked.path), progress)
    return replace(found, task=report)
