"""The shapes of a sweep as workloads, and the engine that spans them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.backends.profile_bounds import dims_text
from enginescope.core.errors import FormatError, MissingDependencyError, UsageError
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_inputs import OnnxInputs, read_onnx_inputs
from enginescope.formats.plan.engine_file import ENGINE_SUFFIXES
from enginescope.records.run.job import DimSize, InputShape, ShapePoint, Workload
from enginescope.runner.model_inputs import settled_workload, sized
from enginescope.services.shapes.request import Sweep, labels_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from enginescope.records.run.job import Job

_BOUNDS = ("min_shapes", "opt_shapes", "max_shapes")


def sweep_points(model: Path, sweep: Sweep, workload: Workload) -> tuple[ShapePoint, ...]:
    """Return the shapes of a sweep in ascending order of size.

    Raises:
        UsageError: The model's dimension is fixed, or it has none of that name.
    """
    inputs = _inputs_of(model)
    if inputs is not None:
        _check_dynamic(model, inputs, sweep)
    labels = labels_of(sweep)
    sizes = sweep.sizes or tuple(math.prod(dims) for dims in sweep.shapes)
    points = []
    for at, (label, size) in enumerate(zip(labels, sizes, strict=True)):
        asked, items = _workload_of(sweep, at, workload)
        settled = replace(settled_workload([model], asked), data_set=None)
        points.append(ShapePoint(label=label, size=size, items=items, workload=settled))
    return tuple(points)


def _workload_of(sweep: Sweep, at: int, workload: Workload) -> tuple[Workload, int]:
    """Return the workload of a shape, and the items of a request."""
    if sweep.shapes:
        dims = sweep.shapes[at]
        shape = InputShape(name=sweep.name, dims=dims)
        return replace(workload, shapes=(*workload.shapes, shape)), dims[0]
    size = sweep.sizes[at]
    if sweep.name == "batch" and not any(one.name == "batch" for one in workload.dims):
        return replace(workload, batch=size), size
    dim = DimSize(name=sweep.name, size=size)
    return replace(workload, dims=(*workload.dims, dim)), size * (workload.batch or 1)


def _inputs_of(model: Path) -> OnnxInputs | None:
    """Return what a file says of its inputs; ``None``: an engine, or it says nothing here."""
    if model.suffix.lower() in ENGINE_SUFFIXES:
        return None
    try:
        return read_onnx_inputs(model)
    except (FormatError, MissingDependencyError, OSError):
        return None


def _check_dynamic(model: Path, inputs: OnnxInputs, sweep: Sweep) -> None:
    """Raise `UsageError` where the swept dimension is fixed in the file."""
    if sweep.shapes:
        dims = inputs.dims.get(sweep.name, (None,))
        fixed = tuple(dim for dim in dims if isinstance(dim, int))
        if len(fixed) == len(dims):
            raise UsageError(
                f"shapes of {sweep.name}",
                why=f"{model.name} fixes it to {dims_text(fixed)}",
                hint="export the model with dynamic dimensions",
            )
    elif sweep.name == "batch":
        for name, dims in inputs.dims.items():
            if dims and isinstance(dims[0], int):
                raise UsageError(
                    f"batch sizes of {model.name}",
                    why=f"input {name} has a fixed first dimension of {dims[0]}",
                    hint="export the model with a dynamic batch, or sweep another dimension",
                )


def spanning(job: Job, points: Sequence[ShapePoint]) -> Job:
    """Return a job whose engine is built for all points, unless its options name shapes.

    The optimum is the middle point, as no weights of the shapes are known before they are measured.
    """
    options = job.backend.options
    is_built = job.backend.name in ("trt", "trt-rtx") and job.subject.kind == "onnx"
    inputs = _inputs_of(Path(job.subject.path or "")) if is_built else None
    if inputs is None or any(key in options for key in _BOUNDS):
        return job
    shapes = [_shapes_of(inputs, point.workload) for point in points]
    spans = {
        "min_shapes": {name: _ends(min, shapes, name) for name in shapes[0]},
        "opt_shapes": shapes[len(shapes) // 2],
        "max_shapes": {name: _ends(max, shapes, name) for name in shapes[0]},
    }
    texts = {
        key: ",".join(f"{name}:{dims_text(dims)}" for name, dims in span.items())
        for key, span in spans.items()
        if span
    }
    return replace(job, backend=replace(job.backend, options={**options, **texts}))


def _shapes_of(inputs: OnnxInputs, workload: Workload) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the inputs that have a dynamic dimension."""
    given = {one.name: one.dims for one in workload.shapes}
    return {
        name: given.get(name) or sized(dims, {}, workload.batch)[0]
        for name, dims in inputs.dims.items()
        if not all(isinstance(dim, int) for dim in dims)
    }


def _ends(
    end: Callable[..., int], shapes: Sequence[dict[str, tuple[int, ...]]], name: str
) -> tuple[int, ...]:
    """Return the least or the largest size of each axis."""
    axes = zip(*(one[name] for one in shapes), strict=True)
    return tuple(end(sizes) for sizes in axes)
