"""``es.validate``: do models and engines still give the right answers?"""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

import msgspec

from enginescope.analysis.output_tolerance import (
    ToleranceOption,
    ToleranceRequest,
    tolerance_named,
)
from enginescope.analysis.validation import Validation
from enginescope.backends.base import Progress
from enginescope.bisect_sides import check_bisectable, with_insides
from enginescope.core.errors import UsageError
from enginescope.model.job import Job, Limits, Workload
from enginescope.model.sample_set import Preprocessing
from enginescope.validation_files import output_folder, work_folder, write_files
from enginescope.validation_pictures import with_picture_shapes
from enginescope.validation_request import ValidationRequest
from enginescope.validation_run import Plan, ValidationRun, Watch
from enginescope.validation_samples import SampleRequest, choose_samples
from enginescope.validation_sides import sides_of
from enginescope.validation_task import AskedTask, with_task

_Path: TypeAlias = str | PathLike[str]
#: One number for all outputs, or one for each that is named.
_Limit: TypeAlias = float | Mapping[str, float]
_Looking: TypeAlias = Callable[[Validation, Plan, Watch], Validation]


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
    bisect: bool = False,
    suggest_precision: bool = False,
    preprocessing: Preprocessing | None = None,
    profile_index: int | None = None,
    limits: Limits | None = None,
    output: _Path | None = None,
    store: _Path | None = None,
) -> Validation:
    """Compare the answers of models and engines with a reference, given the same inputs.

    Parameters
    ----------
    *models : path
        ONNX models and TensorRT engines, each a side on every backend.
    on : str or sequence of str
        Backends of the sides; by default ``"ort-cpu"`` for a model, ``"trt"`` for an engine.
    reference : path or str, optional
        A backend for the first model, a model, an engine, or a folder of outputs. By default the
        outputs of the data sets, where all samples have some; else the first model on ONNX
        Runtime's CPU provider; else the first engine.
    data : path or sequence of path
        Files and folders that hold the samples; by default the ``test_data_set_*`` beside the
        first model, else random ones.
    images : path or sequence of path, optional
        In place of data: pictures, and folders with pictures in them and below.
    samples : int, optional
        So many random ones (8), or the first of the data (all).
    workload : Workload, optional
        Shapes, files, ranges, batch and seed. A shape named again is a further set of samples.
    task : str, optional
        Also the figures of a task: ``"depth?max_depth=80"``; they are in ``found.task``.
    targets : path, optional
        What is right for the task, by base name; by default the reference's answers.
    task_limits : mapping of str to float, optional
        The worst figure that is accepted, by metric of the task.
    tolerance : str, optional
        A row of limits: ``"fp32"``, ``"fp16"``, ``"int8"`` … By default that of the coarsest
        precision in play.
    rtol, atol, percent_mismatch : float or mapping of output to float, optional
        Limits for elements in place of the row.
    bisect : bool
        Find where in a side that fails the error starts; it is in ``found.sides[0].inside``.
    suggest_precision : bool
        Find what to keep in FP32 too; it is in ``found.sides[0].precision``.
    preprocessing : Preprocessing, optional
        What makes inputs of pictures.
    profile_index : int, optional
        Optimisation profile of engines.
    limits : Limits, optional
        Of each side's process; by default 4 h.
    output : path, optional
        Folder for ``output_diff.json``, ``per_sample_diff.json``, ``validate.html`` and
        ``samples/``. By default nothing is kept.
    store : path, optional
        Store whose engine cache is used; by default the one the command line uses.

    Returns
    -------
    Validation
        ``found.passes``; ``found.sides[0].diff.outputs[0].figures.rmse`` and the rest.

    Raises
    ------
    UsageError
        A file is not there, the request contradicts the model, or there is nothing to compare.
    UnsupportedError, BackendError
        The reference could not answer. What a side could not is its ``failure``.
    """
    _check_question(models, samples, preprocessing)
    asked = _tolerance(rtol, atol, percent_mismatch)
    workload, preprocessing = workload or Workload(), preprocessing or Preprocessing()
    asked_task = _task(task, targets, task_limits, preprocessing)
    paths, pictures, known = map(_texts, (data, images, () if targets is None else targets))
    sampled = SampleRequest(
        data=paths,
        images=pictures,
        count=samples,
        seed=workload.seed,
        shapes=workload.shapes,
        has_files=bool(workload.files),
    )
    chosen = choose_samples(Path(models[0]), sampled)
    drawn = with_picture_shapes(chosen.samples, [Path(one) for one in models], preprocessing)
    request = ValidationRequest(
        models=_texts(models),
        backends=(on,) if isinstance(on, str) else tuple(on),
        reference=None if reference is None else fspath(reference),
        workload=msgspec.structs.replace(workload, shapes=chosen.shapes),
        limits=limits or Limits(timeout_s=4 * 3600.0),
        engine_cache=str(_engines(store)),
        profile_index=profile_index,
        alone=asked_task is not None and asked_task.stands_alone,
    )
    into = _checked(output, request, (*paths, *pictures, *known))
    with work_folder(into, keeps_samples=True) as folder:
        plan = Plan(
            sides=sides_of(request, drawn),
            samples=drawn,
            preprocessing=preprocessing,
            folder=str(folder),
            keeps_inputs=into is not None,
            tolerance=_row(tolerance, asked, inside=bisect or suggest_precision),
            asked=asked,
        )
        return _done(plan, into, asked_task, _looking(plan, bisect, suggest_precision))


def _looking(plan: Plan, bisects: bool, suggests: bool) -> _Looking | None:  # noqa: FBT001
    """Return what looks into the sides, if that was asked for and can be done."""
    if not (bisects or suggests):
        return None
    check_bisectable(plan)
    return partial(with_insides, suggests_precision=suggests)


def _done(
    plan: Plan, output: Path | None, task: AskedTask | None, looking: _Looking | None
) -> Validation:
    doing = ValidationRun(plan, _unwatched)
    doing.bindings()
    doing.answers()
    found = doing.compared(lambda _number: None)
    if looking is not None:
        found = looking(found, plan, _unwatched)
    if task is not None:
        found = with_task(found, doing, task)
    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    # the program's own command line: what repeats a call from Python
    command = shlex.join(sys.orig_argv)
    found = msgspec.structs.replace(found, command=command, created=created)
    if output is not None:
        write_files(found, doing, output)
    return found


def _unwatched(job: Job, progress: Progress | None) -> None:
    """Show nothing."""


def _task(
    text: str | None,
    targets: _Path | None,
    limits: Mapping[str, float] | None,
    preprocessing: Preprocessing,
) -> AskedTask | None:
    if text is not None:
        path = None if targets is None else Path(targets)
        return AskedTask(text, path, tuple((limits or {}).items()), preprocessing)
    for name, given in (("targets", targets), ("task_limits", limits)):
        if given:
            raise UsageError(name, why="there is no task", hint='task="depth"')
    return None


def _checked(output: _Path | None, request: ValidationRequest, data: Sequence[str]) -> Path | None:
    if output is None:
        return None
    models = [Path(one) for one in request.models]
    return output_folder(Path(output), models, [Path(one) for one in data], request.reference)


def _tolerance(
    rtol: _Limit | None, atol: _Limit | None, mismatch: _Limit | None
) -> ToleranceRequest:
    return ToleranceRequest(
        rtol=_options(rtol), atol=_options(atol), mismatch_pct=_options(mismatch)
    )


def _row(name: str | None, asked: ToleranceRequest, *, inside: bool) -> str | None:
    """Return the row of that name, unless nothing is left to it; tensors inside are held to it."""
    general = asked.in_place_of_rows()
    if name and general and not inside:
        raise UsageError(
            f"tolerance={name!r} and {general}",
            why=f"{general} for all outputs leaves nothing to it",
            hint=f'one of them, or {general}={{"output": 1e-3}} for single outputs',
        )
    return tolerance_named(name).name if name else None


def _options(limit: _Limit | None) -> tuple[ToleranceOption, ...]:
    if limit is None:
        return ()
    if isinstance(limit, Mapping):
        return tuple(_option(name, value) for name, value in limit.items())
    return (_option(None, limit),)


def _check_question(
    models: Sequence[_Path], samples: int | None, pictures: Preprocessing | None
) -> None:
    if not models:
        raise UsageError("nothing to validate", hint='es.validate("model.onnx", on="trt:fp16")')
    if samples is not None and samples < 1:
        raise UsageError(f"samples={samples}", why="nothing would be compared", hint="at least 1")
    divisors = (pictures.divisor, *pictures.std) if pictures else ()
    numbers = (*divisors, *pictures.mean) if pictures else ()
    if 0 in divisors or not all(map(math.isfinite, numbers)):
        raise UsageError("preprocessing", why="divisor and std are finite and not 0, mean finite")


def _option(output: str | None, value: float) -> ToleranceOption:
    if not isinstance(value, Real) or not 0 <= value < math.inf:  # NaN would pass everything
        why = "it is not a finite number of 0 or more"
        raise UsageError(f"tolerance {value!r}", why=why, hint="as in 1e-3")
    return ToleranceOption(output=output, value=float(value))


def _texts(paths: _Path | Sequence[_Path]) -> tuple[str, ...]:
    many = (paths,) if isinstance(paths, (str, PathLike)) else paths
    return tuple(str(fspath(one)) for one in many)


def _engines(store: _Path | None) -> Path:
    from enginescope.store.archive import Store
    from enginescope.store.location import parse_place

    return Store(parse_place(fspath(store)) if store is not None else None).path / "engines"
