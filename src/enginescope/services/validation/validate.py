"""``validate``: do models and engines still give the right outputs?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from enginescope.analysis.errors.output_tolerance import (
    ToleranceOption,
    ToleranceRequest,
    tolerance_named,
)
from enginescope.analysis.tasks.base import parse_task
from enginescope.analysis.tasks.task_scoring import TaskLimit, TaskScoring
from enginescope.analysis.validation.validation import Validation
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import replace
from enginescope.core.suggest import did_you_mean
from enginescope.judge.units import counted
from enginescope.records.run.job import Limits, Workload
from enginescope.records.run.passport import EngineValidation
from enginescope.records.run.sample_set import Preprocessing
from enginescope.runner.model_inputs import settled_workload
from enginescope.services.accuracy.output_files import (
    choose_samples,
    output_folder,
    with_picture_shapes,
    work_folder,
    write_files,
)
from enginescope.services.accuracy.request import (
    SIDE_LIMITS,
    BisectionRequest,
    SampleRequest,
    TaskRequest,
    ValidateRequest,
    ValidationObserver,
    check_request,
)
from enginescope.services.accuracy.sides import sides_of
from enginescope.services.accuracy.validation_run import Plan, ValidationRun
from enginescope.services.bisection.bisect import add_bisection, check_bisectable
from enginescope.services.store_access import made_now, own_command
from enginescope.store.archive import Store
from enginescope.store.location import parse_place
from enginescope.store.machine_records import VALIDATIONS

_Path: TypeAlias = str | PathLike[str]
#: One number for all outputs, or one for each that is named.
_Limit: TypeAlias = float | Mapping[str, float]
#: Names of skipped files that a warning has.
_MOST_NAMED = 3


def validate_models(request: ValidateRequest, observer: ValidationObserver) -> Validation:
    """Compare the outputs of models and engines with a reference, given the same inputs."""
    check_request(request)
    wanted, inside = request.task, request.bisection
    task = RequestedTask(wanted.name, wanted, request.preprocessing) if wanted.name else None
    output = _output(request)
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
            VALIDATIONS.record(Store(request.store).path, validation)
        except EnginescopeError as error:
            observer.warn(f"the validation is not stored: {error}")


def _output(request: ValidateRequest) -> Path | None:
    if request.output is None:
        return None
    samples, targets = request.samples, request.task.targets
    read = [*samples.data, *samples.images, *([targets] if targets else [])]
    return output_folder(request.output, request.models, read, request.reference)


def _plan(request: ValidateRequest, folder: Path, observer: ValidationObserver) -> Plan:
    named = Path(request.reference) if request.reference is not None else None
    models = [*request.models, *([named] if named is not None and named.is_file() else [])]
    workload = settled_workload(models, request.workload)
    chosen = choose_samples(request.models[0], request.samples, workload)
    if chosen.skipped:
        more = " …" if len(chosen.skipped) > _MOST_NAMED else ""
        what = counted(len(chosen.skipped), "file is not a sample", "files are not samples")
        observer.warn(f"{what}: {', '.join(chosen.skipped[:_MOST_NAMED])}{more}")
    if (count := len(chosen.samples)) < (request.samples.count or 0):
        observer.warn(f"the data has only {counted(count, 'sample')}: enginescope uses no more")
    samples = with_picture_shapes(chosen.samples, request.models, request.preprocessing)
    settled = replace(request, workload=replace(workload, shapes=chosen.shapes))
    return Plan(
        sides=sides_of(settled, samples),
        samples=samples,
        preprocessing=request.preprocessing,
        folder=str(folder),
        keeps_inputs=request.output is not None and not request.skip_output_save,
        tolerance=tolerance_named(request.tolerance).name if request.tolerance else None,
        asked=request.output_limits,
        output_names=request.output_names,
        fail_fast=request.fail_fast,
        allow_nothing_compared=request.allow_nothing_compared,
    )


def validate(
    *models: _Path,
    on: str | Sequence[str] = (),
    reference: _Path | None = None,
    data: _Path | Sequence[_Path] = (),
    images: _Path | Sequence[_Path] = (),
    samples: int | None = None,
    workload: Workload | None = None,
    task: str | None = None,
    targets: _Path | None = None,
    task_limits: Mapping[str, float] | None = None,
    tolerance: str | None = None,
    rtol: _Limit | None = None,
    atol: _Limit | None = None,
    percent_mismatch: _Limit | None = None,
    allow_nothing_compared: bool = False,
    bisect: bool = False,
    suggest_precision: bool = False,
    map: Mapping[str, str] | None = None,  # noqa: A002 - as the command line calls it
    fail_fast: bool = False,
    extract: _Path | None = None,
    preprocessing: Preprocessing | None = None,
    profile_index: int | None = None,
    limits: Limits | None = None,
    output: _Path | None = None,
    store: _Path | None = None,
    random: bool = False,
    image_input: str | None = None,
    percent: float | None = None,
    marks: int | None = None,
    rebuild: bool = False,
    skip_output_save: bool = False,
) -> Validation:
    """Compare the outputs of models and engines with a reference, given the same inputs.

    Args:
        *models: ONNX models and TensorRT engines, each a side on every backend.
        on: Backends of the sides; by default ``"ort-cpu"`` for a model, ``"trt"`` for an engine.
        reference: A backend for the first model, a model, an engine, or a folder of outputs. By
            default the outputs of the data sets, where all samples have some; else the first model
            on ONNX Runtime's CPU provider; else the first engine.
        data: Files and folders that hold the samples; by default the ``test_data_set_*`` beside the
            first model, else random ones.
        images: In place of data: pictures, and folders with pictures in them and below.
        samples: So many random ones (8), or the first of the data (all).
        workload: Shapes, files, ranges, batch and seed. A shape named again is a further set of
            samples.
        task: Also the figures of a task: ``"depth?max_depth=80"``; they are in ``found.task``.
        targets: What is right for the task, by base name; by default the reference's answers.
        task_limits: The worst figure that is accepted, by metric of the task.
        tolerance: A row of limits: ``"fp32"``, ``"fp16"``, ``"int8"`` … By default that of the
            coarsest precision in play.
        rtol, atol, percent_mismatch: Limits for elements in place of the row.
        allow_nothing_compared: Pass an output whose elements are all missing, NaN or too small to
            compare; without it, such an output fails with ``W-NOTHING-COMPARED``.
        bisect: Find where in a side that fails the error starts; it is in
            ``found.sides[0].inside``.
        suggest_precision: Find what to keep in FP32 too; it is in ``found.sides[0].precision``.
        map: Outputs of the sides -> outputs of the reference that they are compared with, where the
            names differ.
        fail_fast: End with the first sample or target that cannot be read. By default such samples
            are skipped; they are in ``found.skipped``.
        extract: Empty folder for the node at which the error starts, as a bug report; with
            `bisect`.
        preprocessing: What makes inputs of pictures.
        profile_index: Optimization profile of engines.
        limits: Of each side's process; by default 4 h.
        output: Folder for ``output_diff.json``, ``per_sample_diff.json``, ``validate.html`` and
            ``samples/``. By default nothing is kept.
        store: Store whose engine cache is used; by default the one the command line uses.
        random: Random samples, whatever lies beside the model.
        image_input: Input that pictures are for, where the model has several.
        percent: Count relative errors beyond this percentage; by default 1.
        marks: Tensors that `bisect` marks at once; by default all, or 32 where each try is a build.
        rebuild: Build engines again, even if the cache has them.
        skip_output_save: Write no ``samples/`` into `output`.

    Returns:
        ``found.passes``; ``found.sides[0].diff.outputs[0].figures.rmse`` and the rest.

    Raises:
        UsageError: A file is not there, the request contradicts the model, or there is nothing to
            compare.
        UnsupportedError, BackendError: The reference could not run. What a side could not is its
            ``failure``.
    """
    return validate_models(
        ValidateRequest(
            models=_paths(models),
            on=(on,) if isinstance(on, str) else tuple(on),
            reference=None if reference is None else fspath(reference),
            samples=SampleRequest(_paths(data), _paths(images), random, samples, image_input),
            workload=workload or Workload(),
            preprocessing=preprocessing or Preprocessing(),
            task=TaskRequest(
                name=task, targets=_path(targets), limits=tuple((task_limits or {}).items())
            ),
            tolerance=tolerance,
            output_limits=_output_limits(rtol, atol, percent_mismatch, percent),
            allow_nothing_compared=allow_nothing_compared,
            output_names=dict(map or {}),
            fail_fast=fail_fast,
            bisection=BisectionRequest(bisect, suggest_precision, marks, _path(extract)),
            profile_index=profile_index,
            rebuild=rebuild,
            limits=limits or SIDE_LIMITS,
            output=_path(output),
            skip_output_save=skip_output_save,
            store=None if store is None else parse_place(fspath(store)),
            command=own_command(),
        ),
        ValidationObserver(),
    )


def _output_limits(
    rtol: _Limit | None, atol: _Limit | None, mismatch: _Limit | None, percent: float | None
) -> ToleranceRequest:
    if percent is not None:
        _check_number(percent)
    return ToleranceRequest(
        rtol=_options(rtol), atol=_options(atol), mismatch_pct=_options(mismatch), percent=percent
    )


def _options(limit: _Limit | None) -> tuple[ToleranceOption, ...]:
    if limit is None:
        return ()
    pairs: list[tuple[str | None, float]]
    pairs = list(limit.items()) if isinstance(limit, Mapping) else [(None, limit)]
    for _, value in pairs:
        _check_number(value)
    return tuple(ToleranceOption(output=name, value=float(value)) for name, value in pairs)


def _check_number(value: float) -> None:
    if not isinstance(value, Real) or not 0 <= value < math.inf:  # NaN would pass everything
        why = "it is not a finite number of 0 or more"
        raise UsageError(f"tolerance {value!r}", why=why, hint="as in 1e-3")


def _path(path: _Path | None) -> Path | None:
    return None if path is None else Path(path)


def _paths(paths: _Path | Sequence[_Path]) -> tuple[Path, ...]:
    return tuple(Path(path) for path in ([paths] if isinstance(paths, str | PathLike) else paths))


class RequestedTask:
    """A task with its targets and limits."""

    def __init__(self, text: str, request: TaskRequest, preprocessing: Preprocessing) -> None:
        self.text = text
        self.task = parse_task(text)
        self.path = request.targets
        self.targets = self.task.targets(self.path) if self.path else None
        self.limits = self._known(request.limits)
        fit = preprocessing.fit
        if self.targets is not None and fit not in self.task.fits:
            raise UsageError(
                f"`image_fit` {fit}",
                why=f"targets of {self.task.name} refer to the whole image",
                hint=f"`image_fit` {self.task.fits[0]}",
            )

    def _known(self, given: Sequence[tuple[str, float]]) -> tuple[TaskLimit, ...]:
        has_targets = self.targets is not None
        metrics = self.task.metrics if has_targets else self.task.agreement_metrics
        known = [metric.name for metric in metrics]
        for name, _ in given:
            if name not in known:
                where = "" if has_targets else " without targets"
                raise UsageError(
                    f"{self.task.name} has no metric {name!r}{where}",
                    hint=did_you_mean(name, known),
                )
        return tuple(TaskLimit(metric=name, value=value) for name, value in given)


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
