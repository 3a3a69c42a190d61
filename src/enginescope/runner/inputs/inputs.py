"""Values for a model's inputs: files, a data set, or seeded random ones.

The same job gives the same values on every backend: a random input depends on its own name, shape
and type and on the seed, not on the order of the inputs.

Random values lie in trtexec's ranges.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.backends.base import Feeds, InputSpec
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.formats.onnx.onnx_inputs import is_past
from enginescope.formats.tensors.tensor_files import load_data_set, load_tensor
from enginescope.judge.notice import Notice
from enginescope.records.run.job import FilledInput, InputRange, OpenDims, Workload
from enginescope.records.tensor import PACKED, DataType
from enginescope.runner.model_inputs import open_dims, sized

NUMPY_TYPES = {
    DataType.FP64: np.float64,
    DataType.FP32: np.float32,
    DataType.FP16: np.float16,
    DataType.INT64: np.int64,
    DataType.INT32: np.int32,
    DataType.INT16: np.int16,
    DataType.INT8: np.int8,
    DataType.UINT64: np.uint64,
    DataType.UINT32: np.uint32,
    DataType.UINT16: np.uint16,
    DataType.UINT8: np.uint8,
    DataType.BOOL: np.bool_,
    DataType.COMPLEX64: np.complex64,
    DataType.COMPLEX128: np.complex128,
}

#: Types that NumPy lacks -> the type that holds their bits.
RAW_TYPES = {
    DataType.BF16: np.uint16,
    DataType.FP8: np.uint8,
    DataType.E8M0: np.uint8,
    **dict.fromkeys(PACKED, np.uint8),
}


#: Bytes of one-byte types that NumPy lacks, all within ±1: E4M3 up to 0x38 is 1, E8M0 127 is 2⁰.
#: Not 0, whose negative is NaN in the types without a negative zero.
_RAW_BYTES = {DataType.FP8: (1, 0x38), DataType.E8M0: (120, 127)}
#: Kind of an integer in NumPy -> ends of its random values.
_INTEGERS = {"b": (0, 1), "u": (0, 255), "i": (-128, 127)}
#: The largest finite bfloat16, 0x7F7F: eight significant bits and the exponent of 2¹²⁷.
LARGEST_BF16 = 0xFF << 120


def random_array(
    spec: InputSpec, shape: tuple[int, ...], seed: int, bounds: InputRange | None
) -> Any:
    """Return random values in trtexec's ranges: floats −1…1, integers −128…127, uint8 0…255."""
    if bounds is not None:
        _check_bounds(spec, bounds)
    low, high = (bounds.low, bounds.high) if bounds is not None else (-1, 1)
    generator = np.random.default_rng([seed, zlib.crc32(spec.name.encode())])
    dtype = spec.dtype
    if dtype is DataType.STRING:
        return np.full(shape, "enginescope", dtype=object)
    if dtype is DataType.BF16:  # the upper half of a float32 is a bfloat16
        wide = generator.uniform(low, high, shape).astype(np.float32)
        return (wide.view(np.uint32) >> 16).astype(np.uint16)
    if (dtype in PACKED or dtype in _RAW_BYTES) and bounds is None:
        return _raw_array(dtype, shape, generator)
    if dtype is None or dtype not in NUMPY_TYPES:
        why = "it cannot be filled at random"
        raise UnsupportedError(f"input {spec.name} of type {spec.type_text}", why=why)
    kind = np.dtype(NUMPY_TYPES[dtype])
    if bounds is not None and kind.kind in "iub":
        # drawn wide, then narrowed: an engine may hold as INT32 what its model holds as INT64
        drawn: Any = np.uint64 if kind == np.uint64 else np.int64
        return generator.integers(low, high, shape, drawn, endpoint=True).astype(kind)
    if kind.kind in _INTEGERS:
        least, most = _INTEGERS[kind.kind]
        return generator.integers(least, most, shape, endpoint=True).astype(kind)
    return generator.uniform(low, high, shape).astype(kind)


def _raw_array(
    dtype: DataType | None, shape: tuple[int, ...], generator: np.random.Generator
) -> Any:
    """Return random bytes of a type that NumPy lacks, none of them NaN or infinite."""
    if dtype in PACKED:  # any four bits are a number
        return generator.integers(0, 256, math.ceil(math.prod(shape) / 2), np.uint8)
    first, last = _RAW_BYTES[dtype or DataType.FP8]
    sign = generator.integers(0, 2, shape, np.uint8) * (128 if dtype is DataType.FP8 else 0)
    return (sign + generator.integers(first, last, shape, np.uint8, endpoint=True)).astype(np.uint8)


def _check_bounds(spec: InputSpec, bounds: InputRange) -> None:
    low, high = -np.inf, np.inf
    if spec.dtype is DataType.STRING:
        raise UsageError(f"a range for input {spec.name}", why="it holds strings")
    if spec.dtype is DataType.BOOL:
        low, high = 0, 1
    elif spec.dtype in NUMPY_TYPES:
        kind: Any = np.dtype(NUMPY_TYPES[spec.dtype])
        info = np.iinfo(kind) if kind.kind in "iu" else np.finfo(kind)
        # as Python's own numbers, which compare exactly, however large
        low, high = int(info.min), int(info.max)
    elif spec.dtype is DataType.BF16:
        low, high = -LARGEST_BF16, LARGEST_BF16
    if not low <= bounds.low <= bounds.high <= high:
        why = f"{spec.type_text} holds no such values"
        raise UsageError(f"range {bounds.low}:{bounds.high} for input {spec.name}", why=why)


#: How a dynamic dimension without a name begins.
_UNNAMED = "axis "
#: Inputs whose shapes a notice names.
_MOST_SHAPES = 6


def make_feeds(specs: tuple[InputSpec, ...], workload: Workload) -> Feeds:
    """Return values for every input of a model.

    Files come before the data set, the data set before random values; a shape that the user fixed
    overrides the data set for that input.

    Raises:
        UsageError: A name the model does not have, or a shape or file that does not fit.
        UnsupportedError: A batch or a shape that the model's fixed dimensions exclude, or an input
            that has no array form here (a sequence, a map).
    """
    _check_names(specs, workload)
    from_set: dict[str, Any] = {}
    if workload.data_set is not None:
        from_set = load_data_set(Path(workload.data_set), [spec.name for spec in specs])
    files = {file.name: file.path for file in workload.files}
    opened: dict[Path, Any] = {}
    ranges = {one.name: one for one in workload.ranges}
    filled = {one.name: one for one in workload.filled}
    arrays: dict[str, Any] = {}
    assumed: list[OpenDims] = []
    indices: list[InputRange] = []
    unbounded: list[str] = []
    shapes: dict[str, tuple[int, ...]] = {}
    for spec in specs:
        if spec.default_values is not None and spec.name not in files:
            arrays[spec.name] = _shape_values(spec, workload)
            shapes[spec.name] = arrays[spec.name].shape
            continue
        shape, left_open = resolve_shape(spec, workload)
        if spec.name in files:
            arrays[spec.name] = _from_file(spec, files[spec.name], shape, opened, workload)
        elif spec.name in from_set and _fits(from_set[spec.name].shape, spec, workload):
            arrays[spec.name] = _as_wanted(spec, from_set[spec.name])
        elif spec.name in filled and spec.dtype in NUMPY_TYPES:
            arrays[spec.name] = _filled(spec, shape, filled[spec.name])
            assumed += [left_open] if left_open else []
        else:
            arrays[spec.name] = random_array(spec, shape, workload.seed, ranges.get(spec.name))
            assumed += [left_open] if left_open else []
            if spec.name in workload.index_inputs:
                indices.append(ranges[spec.name])
            if spec.dtype in (DataType.INT64, DataType.INT32) and spec.name not in ranges:
                unbounded.append(spec.name)
        shapes[spec.name] = shape if spec.dtype in PACKED else tuple(arrays[spec.name].shape)
    _check_batch(specs, shapes, workload)
    notices = [*_assumed_notice(assumed, shapes), *_index_notice(indices)]
    notices += _filled_notice(workload.filled, shapes)
    if from_set:
        notices.append(_data_set_notice(workload))
    return Feeds(
        arrays=arrays,
        shapes=shapes,
        batch=workload.batch or _batch_of(shapes),
        notices=tuple(notices),
        random_integers=tuple(unbounded),
    )


def resolve_shape(spec: InputSpec, workload: Workload) -> tuple[tuple[int, ...], OpenDims | None]:
    """Return the shape an input is fed with, and its dimensions that are 1 without a request."""
    given = next((one.dims for one in workload.shapes if one.name == spec.name), None)
    if given is not None:
        _check_shape(spec, given)
        return given, next((one for one in workload.open_dims if one.input == spec.name), None)
    dims: list[int | str | None] = [*spec.shape]
    if spec.default_shape is not None:  # of an engine, whose batch may still be another
        for axis, dim in enumerate(spec.shape):
            is_batch = axis == 0 and workload.batch is not None
            if not is_batch and not (isinstance(dim, int) and dim >= 0):
                dims[axis] = spec.default_shape[axis]
    shape, left = sized(dims, {}, workload.batch)
    if workload.batch is not None and spec.shape and shape[0] != workload.batch:
        why = f"the model has a fixed batch of {shape[0]} (input `{spec.name}`)"
        hint = f"use batch {shape[0]}, or export the model with a dynamic batch"
        raise UnsupportedError(f"batch {workload.batch}", why=why, hint=hint)
    return shape, open_dims(spec.name, left) if left else None


def _filled(spec: InputSpec, shape: tuple[int, ...], how: FilledInput) -> Any:
    """Return the values that the name of an input decides, the same in each row."""
    row = how.first + how.step * np.arange(shape[-1] if shape else 1)
    kind = NUMPY_TYPES[spec.dtype or DataType.INT64]
    return np.ascontiguousarray(np.broadcast_to(row if shape else row[0], shape), dtype=kind)


def _shape_values(spec: InputSpec, workload: Workload) -> Any:
    """Return the values of a shape tensor: as fixed by ``--shape``, else its own default."""
    given = next((shape.dims for shape in workload.shapes if shape.name == spec.name), None)
    values = given if given is not None else spec.default_values
    count = spec.shape[0] if spec.shape else 1
    if isinstance(count, int) and len(values or ()) != count:
        why = f"it holds {count} values, which are dimensions"
        raise UsageError(f"shape {'x'.join(map(str, values or ()))} for input {spec.name}", why=why)
    kind = np.dtype(NUMPY_TYPES.get(spec.dtype or DataType.INT64, np.int64))
    array = np.asarray(values, kind)
    return array.reshape(()) if not spec.shape else array


def _check_batch(
    specs: tuple[InputSpec, ...], shapes: dict[str, tuple[int, ...]], workload: Workload
) -> None:
    """Raise `UsageError` where a dynamic first dimension is not the batch the user named.

    Throughput is batch ÷ mean latency: a batch that was not fed makes it wrong.
    """
    for spec in specs:
        shape = shapes[spec.name]
        if workload.batch is None or not shape or isinstance(spec.shape[0], int):
            continue
        if shape[0] != workload.batch:
            why = f"input {spec.name} is fed {'x'.join(map(str, shape))}"
            hint = "omit --batch: the inputs have it"
            raise UsageError(f"batch {workload.batch}", why=why, hint=hint)


def names_in(workload: Workload) -> tuple[str, ...]:
    """Return the inputs that shapes, files and ranges name, each once."""
    shapes, files, ranges = workload.shapes, workload.files, workload.ranges
    names = (*(shape.name for shape in shapes), *(file.name for file in files))
    return tuple(dict.fromkeys((*names, *(one.name for one in ranges))))


def _check_names(specs: tuple[InputSpec, ...], workload: Workload) -> None:
    known = [spec.name for spec in specs]
    for name in names_in(workload):
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"the model has no input called {name!r}", hint=hint)


def _check_shape(spec: InputSpec, given: tuple[int, ...]) -> None:
    what = f"shape {'x'.join(map(str, given))} for input `{spec.name}`"
    wanted = "x".join(str(dim) if dim is not None else "?" for dim in spec.shape)
    if len(given) != len(spec.shape):
        raise UsageError(what, why=f"the model expects {wanted or 'a scalar'}")
    sizes = zip(spec.shape, given, strict=True)
    if any(isinstance(dim, int) and dim not in (-1, size) for dim, size in sizes):
        hint = "use these sizes, or export the model with dynamic dimensions"
        raise UnsupportedError(what, why=f"the model has fixed dimensions: {wanted}", hint=hint)


def _from_file(
    spec: InputSpec, path: str, shape: tuple[int, ...], opened: dict[Path, Any], workload: Workload
) -> Any:
    if spec.name in {one.name for one in workload.ranges} - {*workload.index_inputs}:
        why = "a range bounds random values, and its values come from the file"
        hint = "omit --range or --input"
        raise UsageError(f"input {spec.name} has a range and a file", why=why, hint=hint)
    wanted = (NUMPY_TYPES | RAW_TYPES).get(spec.dtype) if spec.dtype else None
    packed = spec.dtype in PACKED
    held = (math.ceil(math.prod(shape) / 2),) if packed else shape
    array = load_tensor(Path(path), name=spec.name, dtype=wanted, shape=held, opened=opened)
    if wanted is not None and array.dtype != np.dtype(wanted):
        raw = f", which {spec.type_text} is held as" if spec.dtype in RAW_TYPES else ""
        why = f"it holds {array.dtype}, the model expects {np.dtype(wanted)}{raw}"
        raise UsageError(f"{path} for input {spec.name}", why=why)
    if packed and array.size != held[0]:
        why = f"it holds {array.size} bytes, and two values to a byte make {held[0]}"
        raise UsageError(f"{path} for input {spec.name}", why=why)
    if packed:
        return array.reshape(-1)
    _check_shape(spec, array.shape)
    given = next((one.dims for one in workload.shapes if one.name == spec.name), array.shape)
    if given != array.shape:
        what = f"shape {'x'.join(map(str, given))} for input {spec.name}"
        why = f"its file holds {'x'.join(map(str, array.shape)) or 'a scalar'}"
        raise UsageError(what, why=why, hint="omit --shape, or pass a file of that shape")
    return array


def _as_wanted(spec: InputSpec, array: Any) -> Any:
    """Return an array of a data set in the type that the input has.

    An engine may take another type than the model it was built from: TensorRT 8 has no INT64.
    """
    wanted = NUMPY_TYPES.get(spec.dtype) if spec.dtype else None
    if wanted is None or array.dtype == np.dtype(wanted):
        return array
    kind = np.dtype(wanted)
    kinds = {"i": "int", "u": "int", "f": "float"}
    same = kinds.get(kind.kind, kind.kind) == kinds.get(array.dtype.kind, array.dtype.kind)
    converted = array.astype(kind) if same else array
    exact = kind.kind == "f" or bool((converted == array).all())
    if same and exact:
        return converted
    why = "some values do not fit" if same else "they are of another kind"
    what = f"the data set's values for input {spec.name}"
    hint = "--data none feeds random ones"
    raise UsageError(what, why=f"they are {array.dtype}, the input is {kind}: {why}", hint=hint)


def _fits(shape: tuple[int, ...], spec: InputSpec, workload: Workload) -> bool:
    """Whether a data set's array is still wanted, after the user's shapes and batch."""
    if any(one.name == spec.name for one in workload.shapes):
        return resolve_shape(spec, workload)[0] == shape
    return workload.batch is None or (bool(shape) and shape[0] == workload.batch)


def _data_set_notice(workload: Workload) -> Notice:
    folder = Path(workload.data_set or "")
    message = f"inputs come from {folder.name} next to the model; --data none uses random inputs"
    return Notice(code="I-DATA-SET", message=message, evidence={"folder": str(folder)})


def _assumed_notice(
    assumed: Sequence[OpenDims], shapes: Mapping[str, tuple[int, ...]]
) -> Iterator[Notice]:
    """Say once, for all inputs, which dimensions are 1 without a request, and how to set them.

    A remark where that is the first dimension alone, which is taken for the batch; else a warning.
    """
    if not assumed:
        return
    names = dict.fromkeys(name for one in assumed for name in one.names)
    flags = [f"--dim {name}=SIZE" for name in names if not name.startswith(_UNNAMED)]
    flags += [
        f"--shape {one.input}:DIMS"
        for one in assumed
        if any(name.startswith(_UNNAMED) for name in one.names)
    ]
    texts = [f"`{dims.input}` {'x'.join(map(str, shapes[dims.input]))}" for dims in assumed]
    more = len(texts) - _MOST_SHAPES
    inputs = ", ".join([*texts[:_MOST_SHAPES], *([f"{more} more"] if more > 0 else [])])
    is_batch = all(one.axes == (0,) for one in assumed)
    dims = f"dynamic dimension{'s' if len(names) > 1 else ''} {', '.join(names)} ({inputs})"
    message = f"using size 1 for the {dims}; to set a size: {' '.join(flags)}"
    used = {one.input: list(shapes[one.input]) for one in assumed}
    code = "I-DYNAMIC-SHAPE" if is_batch else "W-DYNAMIC-SHAPE"
    yield Notice(code, message, {"dimensions": list(names), "shapes": used})


def _index_notice(indices: Sequence[InputRange]) -> Iterator[Notice]:
    ranges = ", ".join(f"{index.name} {index.low} … {index.high}" for index in indices)
    if indices:
        within = f"random indices lie within the model's tables: {ranges}"
        message = f"{within}; to set a range: --range {indices[0].name}:LOW:HIGH"
        evidence = {"ranges": {index.name: [index.low, index.high] for index in indices}}
        yield Notice("I-INDEX-RANGE", message, evidence)


def _filled_notice(
    filled: Sequence[FilledInput], shapes: Mapping[str, tuple[int, ...]]
) -> Iterator[Notice]:
    values = {
        one.name: f"{one.first}, {one.first + one.step}, …" if one.step else str(one.first)
        for one in filled
        if one.name in shapes
    }
    past = next((shape for name, shape in shapes.items() if is_past(name)), None)
    parts = [f"{name} {text}" for name, text in values.items()]
    parts += [f"past of {past[-2]} tokens"] if past is not None and len(past) > 1 else []
    if values or past is not None:
        message = f"inputs by their names: {'; '.join(parts)}"
        evidence = {"values": values, "past": list(past) if past is not None else None}
        yield Notice(code="I-NAMED-INPUTS", message=message, evidence=evidence)


def _batch_of(shapes: dict[str, tuple[int, ...]]) -> int:
    """Return the first dimension where all inputs of two axes or more agree on it, else 1."""
    firsts = {shape[0] for shape in shapes.values() if len(shape) >= 2}
    return int(firsts.pop()) if len(firsts) == 1 else 1
