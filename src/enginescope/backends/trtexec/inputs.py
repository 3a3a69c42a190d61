"""Values of inputs as the raw files that trtexec loads.

What an ONNX model asks for, read from the file: trtexec does not say it before it runs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.backends.base import FeedSource, InputSpec
from enginescope.backends.trtexec.options import Flags
from enginescope.core.errors import UnsupportedError
from enginescope.core.jsonio import read_bytes
from enginescope.core.record import Record, copied, replace
from enginescope.formats.onnx.onnx_inputs import dim_of
from enginescope.formats.onnx.onnx_precision import DATA_TYPES, load_without_weights, type_name
from enginescope.formats.tensors.tensor_files import load_tensor
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Job
from enginescope.records.tensor import DataType, Tensor


def onnx_inputs(path: Path) -> tuple[InputSpec, ...]:
    """Return the inputs of a model, those with an initial value left out."""
    graph = load_without_weights(str(path)).graph
    constant = {one.name for one in graph.initializer}
    constant |= {one.values.name for one in graph.sparse_initializer}
    return tuple(_spec(one) for one in graph.input if one.name not in constant)


def _spec(value: Any) -> InputSpec:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return InputSpec(name=value.name, dtype=None, shape=(), type_text=str(kind))
    tensor = value.type.tensor_type
    word = type_name(tensor.elem_type) or "UNDEFINED"
    return InputSpec(
        name=value.name,
        dtype=DATA_TYPES.get(word),
        shape=tuple(map(dim_of, tensor.shape.dim)),
        type_text=f"tensor({word.lower()})",
    )


def at_optimum(specs: tuple[InputSpec, ...], options: Mapping[str, str]) -> tuple[InputSpec, ...]:
    """Return the inputs with the shapes that the engine is built for as what they are by default.

    Those of the optimization profile in use: its optimum, else its largest, else its smallest.
    """
    index = int(options.get("profile_index", "0"))
    shapes: dict[str, tuple[int, ...]] = {}
    for key in ("min_shapes", "max_shapes", "opt_shapes"):  # the last one counts
        profiles = options.get(key, "").split(";")
        if index < len(profiles) and profiles[index]:
            for one in profiles[index].split(","):
                name, _, dims = one.rpartition(":")
                shapes[name.strip("'")] = tuple(map(int, dims.split("x")))
    found = ((spec, shapes.get(spec.name, ())) for spec in specs)
    return tuple(
        replace(spec, default_shape=shape if shape and len(shape) == len(spec.shape) else None)
        for spec, shape in found
    )


#: Endings of files that say the type of their values themselves.
_TYPED_FILES = frozenset({".npy", ".npz", ".pb"})


class Fed(Record, frozen=True, kw_only=True):
    """What was written for trtexec to load.

    Attributes:
        tensors: Inputs as they are fed; empty for an engine, whose inputs are not known before it
            is loaded.
        random_integers: See `Feeds`.
    """

    tensors: tuple[Tensor, ...] = ()
    batch: int | None = None
    random_integers: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()


def write_inputs(flags: Flags, job: Job, feeds: FeedSource, folder: Path) -> Fed:
    """Write the inputs of `job` into `folder` and add the flags that name them."""
    if job.subject.kind == "engine":
        return _for_engine(flags, job, folder)
    specs = at_optimum(onnx_inputs(Path(job.subject.path or "")), job.backend.options)
    fed = feeds(specs)
    dynamic = (
        spec.name
        for spec in specs
        if any(not isinstance(dim, int) or dim < 0 for dim in spec.shape)
    )
    _add_shapes(flags, {name: fed.shapes[name] for name in dynamic})
    notices = list(fed.notices)
    if "input_formats" in job.backend.options:  # the types in the files would not be the engine's
        notices.append(_own_fill("its input formats were chosen, and with them the types"))
    else:
        files = {spec.name: _raw(spec, fed.arrays[spec.name], flags) for spec in specs}
        _add_files(flags, files, folder)
    tensors = tuple(
        Tensor(name=spec.name, dtype=spec.dtype, shape=fed.shapes[spec.name]) for spec in specs
    )
    return copied(Fed, fed, tensors=tensors, notices=tuple(notices))


def _raw(spec: InputSpec, array: Any, flags: Flags) -> bytes:
    """Return the bytes of an input, in the type that TensorRT's parser gives it."""
    if spec.dtype is DataType.STRING:
        raise UnsupportedError(f"input {spec.name}", why="it holds strings, TensorRT has none")
    values = np.asarray(array)
    if spec.dtype is DataType.FP64:
        values = values.astype(np.float32)
    if spec.dtype is DataType.INT64 and flags.version < (10, 0):
        bounds = np.iinfo(np.int32)
        if values.size and (values.min() < bounds.min or values.max() > bounds.max):
            why = "TensorRT before 10 has no INT64, and a value needs it"
            raise UnsupportedError(f"input {spec.name}", why=why)
        values = values.astype(np.int32)
    return values.astype(values.dtype.newbyteorder("<")).tobytes()


def _for_engine(flags: Flags, job: Job, folder: Path) -> Fed:
    """Feed what the user gave; the rest trtexec fills itself."""
    workload = job.workload
    if workload.ranges or workload.batch is not None:
        what = f"a {'range' if workload.ranges else 'batch'} for {job.subject.name} on trtexec"
        why = "the inputs of an engine are unknown before trtexec loads it"
        hint = "--input NAME:FILE" if workload.ranges else "--shape NAME:DIMS"
        raise UnsupportedError(what, why=why, hint=hint)
    _add_shapes(flags, {shape.name: shape.dims for shape in workload.shapes})
    _add_files(
        flags, {file.name: _engine_file(file.name, file.path) for file in workload.files}, folder
    )
    given = ", ".join(file.name for file in workload.files)
    cause = "the inputs of an engine are unknown before it is loaded"
    return Fed(notices=(_own_fill(f"{cause}; {given} came from files" if given else cause),))


def _engine_file(name: str, path: str) -> bytes:
    """Return the values in a file; one that does not say its type is raw already."""
    file = Path(path)
    if file.suffix not in _TYPED_FILES:
        return read_bytes(file)
    array = load_tensor(file, name=name)
    return bytes(array.astype(array.dtype.newbyteorder("<")).tobytes())


def _add_shapes(flags: Flags, shapes: dict[str, tuple[int, ...]]) -> None:
    if shapes:
        specs = (
            f"{_plain(name)}:{'x'.join(str(dim) for dim in dims)}" for name, dims in shapes.items()
        )
        flags.add("shapes", ",".join(specs))


def _add_files(flags: Flags, files: dict[str, bytes], folder: Path) -> None:
    """Write the files under numbers: names may hold what a path cannot."""
    specs = []
    for index, (name, data) in enumerate(files.items()):
        path = folder / f"input_{index}.bin"
        path.write_bytes(data)
        specs.append(f"{_plain(name)}:{path}")
    if specs:
        flags.add("loadInputs", ",".join(specs))


def _plain(name: str) -> str:
    """Return `name` if trtexec can read it in a list: it splits at commas, quoted or not."""
    if "," in name or "'" in name:
        why = "trtexec does not accept a name with a comma or a quotation mark"
        raise UnsupportedError(f"input {name!r}", why=why)
    return name


def _own_fill(cause: str) -> Notice:
    return Notice("I-OWN-FILL", f"trtexec filled inputs itself and ignored --seed: {cause}")
