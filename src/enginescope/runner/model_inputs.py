"""What models' files say of their inputs, put into a workload before any job is made.

Sizes of named dimensions become shapes, and inputs that index a table get its bounds, so that every
backend, an engine included, is fed the same. A language model gets masks, positions and its past.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from enginescope.core.errors import FormatError, MissingDependencyError, UsageError
from enginescope.core.record import replace
from enginescope.core.suggest import did_you_mean
from enginescope.formats.onnx.onnx_inputs import (
    HAS_PAST,
    OnnxInputs,
    is_mask,
    is_past,
    is_positions,
    is_segments,
    is_tokens,
    read_onnx_inputs,
)
from enginescope.formats.plan.engine_file import ENGINE_SUFFIXES
from enginescope.records.run.job import FilledInput, InputRange, InputShape, OpenDims, Workload

Dims = tuple[int | str | None, ...]
#: Of the axes of a key or value, the one along which tokens lie, without a name.
_TOKENS = -2


def with_language_sizes(
    inputs: OnnxInputs, workload: Workload
) -> tuple[OnnxInputs, dict[str, int]]:
    """Return the inputs with a name for each axis of tokens, and the sizes that follow from names.

    The past is empty unless the workload gives it a length. A mask is as long as the past and the
    tokens together.
    """
    sizes = {dim.name: dim.size for dim in workload.dims}
    if not any(map(is_past, inputs.dims)):
        return inputs, sizes
    if workload.batch is not None:
        firsts = (shape[0] for name, shape in inputs.dims.items() if shape and not is_past(name))
        sizes = {dim: workload.batch for dim in firsts if isinstance(dim, str)} | sizes
    dims = {name: _with_axis_names(name, shape) for name, shape in inputs.dims.items()}
    pasts = [shape for name, shape in dims.items() if is_past(name)]
    empty = {
        dim
        for shape in pasts
        for axis, dim in enumerate(shape, -len(shape))
        if isinstance(dim, str) and (axis == _TOKENS or ("past" in dim and "+" not in dim))
    }
    sizes = dict.fromkeys(empty, 0) | sizes
    # how many tokens are fed is the last dimension of the ids
    of_ids = [shape[-1] for name, shape in dims.items() if is_tokens(name) and len(shape) == 2]
    total = next((_size(dim, sizes) for dim in of_ids if dim is not None), 1)
    total += past_length(dims, sizes)
    for name, shape in dims.items():
        for axis, dim in enumerate(shape):
            if not isinstance(dim, str) or dim in sizes:
                continue
            terms = [term.strip() for term in dim.split("+")]
            if len(terms) > 1:
                sizes[dim] = sum(_size(term, sizes) for term in terms)
            elif "total" in dim or (is_mask(name) and axis and dim not in of_ids):
                sizes[dim] = total
    return replace(inputs, dims=dims), sizes


def _with_axis_names(name: str, dims: Dims) -> Dims:
    named = list(dims)
    axis = len(dims) + _TOKENS if is_past(name) else len(dims) - 1
    if axis > 0 and named[axis] is None and (is_past(name) or is_mask(name)):
        named[axis] = "past_sequence_length" if is_past(name) else "total_sequence_length"
    return tuple(named)


def past_length(dims: Mapping[str, Dims], sizes: Mapping[str, int]) -> int:
    """Return how many tokens the past holds."""
    pasts = (one[_TOKENS] for name, one in dims.items() if is_past(name) and one[1:])
    return next((_size(past, sizes) for past in pasts if past is not None), 0)


def _size(dim: int | str, sizes: Mapping[str, int]) -> int:
    if isinstance(dim, int):
        return dim
    return int(dim) if dim.isdecimal() else sizes.get(dim, 1)


def filled_inputs(
    inputs: OnnxInputs, sizes: Mapping[str, int], workload: Workload
) -> tuple[FilledInput, ...]:
    """Return the inputs whose values follow from their names; those with a file or range do not."""
    known = {file.name for file in workload.files} | {one.name for one in workload.filled}
    known |= {bounds.name for bounds in workload.ranges} - {*workload.index_inputs}
    past = past_length(inputs.dims, sizes)
    filled = []
    for name, dims in inputs.dims.items():
        if name in known or len(dims) > 2:
            continue
        if is_mask(name):
            filled.append(FilledInput(name=name, first=1))
        elif is_positions(name):
            filled.append(FilledInput(name=name, first=past, step=1))
        elif is_segments(name):
            filled.append(FilledInput(name=name, first=0))
        elif name == HAS_PAST:
            filled.append(FilledInput(name=name, first=int(past > 0)))
    return tuple(filled)


def settled_workload(
    models: Sequence[Path], workload: Workload, *, has_every_dim: bool = True
) -> Workload:
    """Return the workload with the shapes and ranges that the models' files decide.

    Args:
        models: That are fed the same; the first one that has an input decides. Engines say nothing.
        has_every_dim: Whether one of them must have each dimension that the workload names.
    """
    files = [inputs for inputs in map(inputs_of, models) if inputs is not None]
    if workload.dims and has_every_dim:
        _check_dims(models, files, workload)
    for read in files:
        inputs, sizes = with_language_sizes(read, workload)
        filled = filled_inputs(inputs, sizes, workload)
        workload = replace(workload, filled=(*workload.filled, *filled))
        workload = _with_ranges(inputs, _with_shapes(inputs, sizes, workload))
    return workload


def inputs_of(model: Path) -> OnnxInputs | None:
    """Return what a file says; ``None``: an engine, or what whoever opens it reports better."""
    if model.suffix.lower() in ENGINE_SUFFIXES:
        return None
    try:
        return _read(model.resolve(), model.stat().st_mtime_ns)
    except (FormatError, MissingDependencyError, OSError):
        return None


@lru_cache(maxsize=64)
def _read(model: Path, _changed_ns: int) -> OnnxInputs:
    """Read a file once, until it changes: a suite makes many jobs of one model."""
    return read_onnx_inputs(model)


def _check_dims(models: Sequence[Path], files: Sequence[OnnxInputs], workload: Workload) -> None:
    shapes = (dims for inputs in files for dims in inputs.dims.values())
    known = dict.fromkeys(dim for dims in shapes for dim in dims if isinstance(dim, str))
    unknown = next((dim for dim in workload.dims if dim.name not in known), None)
    if unknown is None:
        return
    names = " or ".join(dict.fromkeys(model.name for model in models))
    why = f"{names} names these dynamic dimensions: {', '.join(known)}"
    hint = did_you_mean(unknown.name, known)
    if not known:
        why = f"{names} does not name a dynamic dimension"
        hint = "--shape INPUT:DIMS gives an input its whole shape"
    raise UsageError(f"dimension {unknown.name}={unknown.size}", why=why, hint=hint)


def _with_shapes(inputs: OnnxInputs, sizes: Mapping[str, int], workload: Workload) -> Workload:
    given = {one.name for one in workload.shapes}
    shapes, still_open = [], []
    for name, dims in inputs.dims.items():
        if name in given or not any(isinstance(dim, str) and dim in sizes for dim in dims):
            continue
        shape, left = sized(dims, sizes, workload.batch)
        shapes.append(InputShape(name=name, dims=shape))
        still_open += [open_dims(name, left)] if left else []
    derived = [shape.name for shape in shapes] if any(map(is_past, inputs.dims)) else []
    return replace(
        workload,
        shapes=(*workload.shapes, *shapes),
        open_dims=(*workload.open_dims, *still_open),
        derived=(*workload.derived, *derived),
    )


def open_dims(name: str, left: Mapping[int, str]) -> OpenDims:
    """Return the dimensions of an input that are 1 without a request, by axis."""
    return OpenDims(input=name, names=tuple(left.values()), axes=tuple(left))


def sized(
    dims: Sequence[int | str | None], sizes: Mapping[str, int], batch: int | None
) -> tuple[tuple[int, ...], dict[int, str]]:
    """Return a shape, and by axis the dimensions that are 1 because nothing gives a size."""
    shape: list[int] = []
    left: dict[int, str] = {}
    for axis, dim in enumerate(dims):
        if isinstance(dim, int) and dim >= 0:
            shape.append(dim)
        elif isinstance(dim, str) and dim in sizes:
            shape.append(sizes[dim])
        elif axis == 0 and batch is not None:
            shape.append(batch)
        else:
            shape.append(1)
            left[axis] = dim if isinstance(dim, str) and dim else f"axis {axis}"
    return tuple(shape), left


def _with_ranges(inputs: OnnxInputs, workload: Workload) -> Workload:
    bounded = {one.name for one in workload.ranges} | {file.name for file in workload.files}
    bounded |= {one.name for one in workload.filled}
    found = {name: one for name, one in inputs.tables.items() if name not in bounded}
    ranges = (InputRange(name=name, low=0, high=one.size - 1) for name, one in found.items())
    return replace(
        workload, ranges=(*workload.ranges, *ranges), index_inputs=(*workload.index_inputs, *found)
    )


#: Backends that run engines, with their optimization profiles.
_ON_ENGINES = frozenset({"trt", "trtexec"})


def with_profile(backends: Sequence[str], index: int | None) -> list[str]:
    """Return backends with `index` as an option of those that run engines."""
    if index is None:
        return list(backends)
    found = list(backends)
    for at, backend in enumerate(backends):
        if re.split("[:?]", backend)[0] in _ON_ENGINES:
            if "profile_index=" in backend:
                raise UsageError(f"backend {backend}", why="profile_index sets it too")
            found[at] = f"{backend}{'&' if '?' in backend else '?'}profile_index={index}"
    if found == list(backends):
        why = f"{', '.join(backends)} runs no engine"
        raise UsageError("profile_index", why=why, hint="run it on trt")
    return found
