"""A plan file as an engine with its execution contexts.

New weights for a loaded engine, from an ONNX model.

Inputs and outputs take the memory layouts that the engine asks for: channels last, or in vectors.
``CHW4`` holds four channels beside each other, ``HWC8`` all of them, filled up to a multiple of
eight; the axis of the channels is the third from the end, with ``D`` in the name the fourth. Their
memory is page-locked on the host and plain on the device.
"""

import math
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.backends.base import InputSpec
from enginescope.backends.tensorrt.build.network import dtype_of
from enginescope.backends.tensorrt.cuda import Cuda, host_view
from enginescope.backends.tensorrt.libraries import Libraries, Log, is_out_of_memory, member
from enginescope.core.errors import BackendError, UnsupportedError, UsageError, os_errors_as
from enginescope.core.record import Record, copied
from enginescope.core.units import parse_bytes
from enginescope.formats.plan.engine_file import ENGINE_TAGS, header_of
from enginescope.judge.samples import Array
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import NUMPY, DataType

#: Layout -> elements that the channels are padded to a multiple of.
_LAST = {"HWC": 1, "HWC8": 8, "HWC16": 16, "DHWC": 1, "DHWC8": 8}
_VECTORS = {"CHW2": 2, "CHW4": 4, "CHW16": 16, "CHW32": 32, "CDHW32": 32}
LINEAR = "LINEAR"


def is_known(layout: str) -> bool:
    """Whether values can be put into this layout; those of the DLA are only the DLA's."""
    return layout == LINEAR or layout in _LAST or layout in _VECTORS


def to_memory(array: Any, layout: str) -> Any:
    """Return values in the order in which they lie in memory, padding zero."""
    if layout == LINEAR or not is_known(layout):
        return array
    axis, width, count = _channels(array.shape, layout)
    shape = [*array.shape[:axis], count, *array.shape[axis + 1 :]]
    whole = np.zeros(shape, array.dtype)
    np.moveaxis(whole, axis, 0)[: array.shape[axis]] = np.moveaxis(array, axis, 0)
    if layout in _LAST:
        return np.ascontiguousarray(np.moveaxis(whole, axis, -1))
    cut = whole.reshape(*shape[:axis], shape[axis] // width, width, *shape[axis + 1 :])
    return np.ascontiguousarray(np.moveaxis(cut, axis + 1, -1))


def from_memory(values: Any, shape: tuple[int, ...], layout: str) -> Any:
    """Return values that lie in memory, flat, as an array of `shape`."""
    if layout == LINEAR:
        return values.reshape(shape)
    axis, width, count = _channels(shape, layout)
    rest = shape[axis + 1 :]
    if layout in _LAST:
        whole = np.moveaxis(values.reshape(*shape[:axis], *rest, count), -1, axis)
    else:
        cut = values.reshape(*shape[:axis], count // width, *rest, width)
        whole = np.moveaxis(cut, -1, axis + 1).reshape(*shape[:axis], count, *rest)
    return np.ascontiguousarray(whole.take(range(shape[axis]), axis))


def _channels(shape: tuple[int, ...], layout: str) -> tuple[int, int, int]:
    """Return axis of the channels, elements they are padded to a multiple of, and how many."""
    axis = len(shape) - (4 if "D" in layout else 3)
    width = _LAST.get(layout) or _VECTORS[layout]
    return axis, width, math.ceil(shape[axis] / width) * width


#: "Row major linear FP32 format (kLINEAR)"
_IN_WORDS = re.compile(r"\(k(\w+)\)")


class EngineTensor(Record, frozen=True, kw_only=True):
    """An input or output of an engine.

    Attributes:
        shape: ``None``: dynamic.
        type_text: TensorRT's word for its type.
        on_host: A shape tensor: its values are read and written in host memory.
        vector_axis, vector_width: Axis that is padded to a multiple of the width.
        layout: TensorRT's name of its memory format.
        format_text: TensorRT's description of it.
    """

    name: str
    is_input: bool
    dtype: DataType | None
    shape: tuple[int | None, ...]
    type_text: str
    on_host: bool = False
    vector_axis: int | None = None
    vector_width: int | None = None
    layout: str = LINEAR
    format_text: str = ""

    def nbytes(self, shape: tuple[int, ...]) -> int:
        """Return the bytes of a buffer for `shape`, padding included."""
        dims = list(shape)
        if self.vector_axis is not None and self.vector_width and dims:
            width = self.vector_width
            dims[self.vector_axis] = math.ceil(dims[self.vector_axis] / width) * width
        bits = self.dtype.bits if self.dtype is not None else None
        return math.ceil(math.prod(dims) * (bits or 8) / 8)


def tensors_of(trt: Any, engine: Any) -> tuple[EngineTensor, ...]:
    """Return inputs and outputs in the engine's order."""
    names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
    return tuple(_tensor(trt, engine, name) for name in names)


def _tensor(trt: Any, engine: Any, name: str) -> EngineTensor:
    kind = engine.get_tensor_dtype(name)
    axis = int(engine.get_tensor_vectorized_dim(name))
    width = int(engine.get_tensor_components_per_element(name))
    vectorised = axis >= 0 and width > 1
    return EngineTensor(
        name=name,
        is_input=engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT,
        dtype=dtype_of(kind),
        shape=tuple(size if size >= 0 else None for size in engine.get_tensor_shape(name)),
        type_text=kind.name,
        on_host=engine.get_tensor_location(name) == trt.TensorLocation.HOST,
        vector_axis=axis if vectorised else None,
        vector_width=width if vectorised else None,
        layout=_layout(trt, engine, name),
        format_text=engine.get_tensor_format_desc(name),
    )


def _layout(trt: Any, engine: Any, name: str) -> str:
    if hasattr(trt, "TensorFormat"):
        return str(engine.get_tensor_format(name).name)
    # the lean bindings lack the type, and asking for it raises; its description names it
    match = _IN_WORDS.search(engine.get_tensor_format_desc(name))
    return match[1] if match else LINEAR


def input_spec(engine: Any, tensor: EngineTensor, profile: int) -> InputSpec:
    """Return what to ask the feeds for; what is dynamic defaults to the profile's optimum."""
    optimum = None
    if None in tensor.shape and not tensor.on_host:
        optimum = tuple(engine.get_tensor_profile_shape(tensor.name, profile)[1])
    values = _optimal_values(engine, tensor, profile) if tensor.on_host else None
    return copied(InputSpec, tensor, default_shape=optimum, default_values=values)


def _optimal_values(engine: Any, tensor: EngineTensor, profile: int) -> tuple[int, ...] | None:
    """Return the values of a shape tensor that its profile is built for; they are dimensions."""
    ask = getattr(engine, "get_tensor_profile_values", None)  # from TensorRT 10 on
    if ask is not None:
        spans = ask(profile, tensor.name)
        return tuple(int(one) for one in spans[1]) if spans else None
    ask = getattr(engine, "get_profile_shape_input", None)
    index = getattr(engine, "get_binding_index", None)
    if ask is None or index is None:
        return None
    spans = ask(profile, index(tensor.name))
    return tuple(int(one) for one in spans[1]) if spans else None


class Buffer:
    """One tensor's memory, allocated once.

    Args:
        managed: One memory for host and device, which needs no copies.
        pageable: The host's side is not page-locked.
        address: Device memory that is there already.
    """

    def __init__(
        self,
        cuda: Cuda,
        tensor: EngineTensor,
        shape: tuple[int, ...],
        *,
        managed: bool = False,
        pageable: bool = False,
        address: int | None = None,
    ) -> None:
        self._cuda, self.tensor, self.shape = cuda, tensor, shape
        self.nbytes = tensor.nbytes(shape)
        if managed and not tensor.on_host:
            self.device = cuda.device_buffer(self.nbytes, managed=True)
            self.host: Array = host_view(self.device, self.nbytes)
        else:
            locked = None if pageable and not tensor.on_host else cuda.host_buffer(self.nbytes)
            self.host = np.zeros(self.nbytes, np.uint8) if locked is None else locked
            self.device = address or (0 if tensor.on_host else cuda.device_buffer(self.nbytes))
        self._copies = not (managed or tensor.on_host)

    @property
    def address(self) -> int:
        """What TensorRT is given."""
        return int(self.host.ctypes.data) if self.tensor.on_host else self.device

    def fill(self, array: Any) -> None:
        """Put values into the host's memory, in the order that the engine wants."""
        ordered = to_memory(np.asarray(array), self.tensor.layout)
        data = np.ascontiguousarray(ordered).reshape(-1).view(np.uint8)
        count = min(data.size, self.nbytes)
        self.host[:count] = data[:count]

    def copy(self, stream: Any) -> Any | None:
        """Return a call that copies in this tensor's direction; ``None`` where none is needed."""
        if not self._copies or self.nbytes == 0:
            return None
        rt, host = self._cuda.runtime, int(self.host.ctypes.data)
        to, source, kind = self.device, host, rt.cudaMemcpyKind.cudaMemcpyHostToDevice
        if not self.tensor.is_input:
            to, source, kind = host, self.device, rt.cudaMemcpyKind.cudaMemcpyDeviceToHost
        return partial(rt.cudaMemcpyAsync, to, source, self.nbytes, kind, stream)


def values_of(tensor: EngineTensor, shape: tuple[int, ...], data: Array) -> TensorValues:
    """Return bytes as the values of a tensor, copied."""
    dtype = tensor.dtype or DataType.UINT8
    array = np.array(data)
    if dtype in NUMPY and is_known(tensor.layout):
        array = from_memory(array.view(NUMPY[dtype]), shape, tensor.layout)
    return TensorValues(name=tensor.name, dtype=dtype, shape=shape, data=array)


#: What TensorRT says when a plan is not for this version or GPU.
_FOREIGN = ("version", "stdVersionRead", "serializ", "magic tag", "platform", "compute capability")
_TEMPORARY = {"in_memory": "ALLOW_IN_MEMORY_FILES", "temporary": "ALLOW_TEMPORARY_FILES"}


def load_engine(
    libraries: Libraries, logger: Any, log: Log, path: str, options: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Return a runtime and the engine in the file.

    Args:
        options: Of the backend, read: where temporary files may lie, and the DLA core.

    Returns:
        runtime: To be kept alive as long as the engine.

    Raises:
        UsageError: The file cannot be read.
        UnsupportedError: It is a plan of another TensorRT or GPU, or no plan.
        MemoryError: The device's memory does not hold it.
    """
    with os_errors_as(UsageError, f"engine {path}"):
        data = Path(path).read_bytes()
    runtime = libraries.trt.Runtime(logger)
    _configure(libraries, runtime, options)
    # a version-compatible plan carries its own runtime as code of the host; running an engine is
    # running its code anyhow
    runtime.engine_host_code_allowed = True
    if (engine := runtime.deserialize_cuda_engine(data)) is not None:
        if getattr(engine, "has_implicit_batch_dimension", False):  # until TensorRT 10
            why = "it has an implicit batch dimension, which is not run by tensor names"
            hint = "build it again from the ONNX model, which has an explicit batch"
            raise UnsupportedError(f"running {path}", why=why, hint=hint)
        return runtime, engine
    why = log.why("TensorRT gave no reason")
    what = f"loading {path}"
    if is_out_of_memory(why):
        raise MemoryError(f"{what}: {why}")
    what = f"{libraries.title} cannot load {path}"
    raise UnsupportedError(what, why=why, hint=_hint(libraries, Path(path), why))


def _hint(libraries: Libraries, path: Path, why: str) -> str:
    header = header_of(path)
    if header is not None and header.is_rtx != libraries.is_rtx:
        return f"it was {header.text}: --on {'trt-rtx' if header.is_rtx else 'trt'}"
    if header is not None and header.is_rtx:
        return f"it was {header.text}: build again with compute_capabilities"
    if path.read_bytes().startswith(ENGINE_TAGS) and any(word in why for word in _FOREIGN):
        return (
            "a plan runs on the TensorRT version and kind of GPU it was built for: build again, "
            "or with version_compatible=1 and hardware_compatibility=ampere_plus"
        )
    return "is it a TensorRT plan, and whole?"


def _configure(libraries: Libraries, runtime: Any, options: Mapping[str, Any]) -> None:
    if "tempdir" in options:
        runtime.temporary_directory = options["tempdir"]
    if "tempfile_controls" in options:
        flags, mask = getattr(libraries.trt, "TempfileControlFlag", None), 0
        if flags is None:
            what = "trt: tempfile_controls"
            raise UnsupportedError(what, why=f"the {libraries.runtime} runtime has none")
        for name, word in options["tempfile_controls"]:
            if name not in _TEMPORARY or word not in ("allow", "deny"):
                what = f"trt: tempfile_controls={name}:{word}"
                raise UsageError(what, hint="in_memory:allow,temporary:deny and the like")
            if word == "allow":
                mask |= 1 << int(member(flags, _TEMPORARY[name], "tempfile_controls"))
        runtime.tempfile_control_flags = mask
    if "dla_core" in options:
        runtime.DLA_core = options["dla_core"]


def make_context(libraries: Libraries, engine: Any, log: Log, allocation: str | None) -> Any:
    """Return a new execution context.

    Args:
        allocation: When its memory is taken.

    Raises:
        MemoryError: The device's memory does not hold its activations.
        UnsupportedError: This TensorRT has only one way of allocating.
    """
    if allocation is None:
        context = engine.create_execution_context()
    else:
        words = {"static": "STATIC", "profile": "ON_PROFILE_CHANGE", "runtime": "USER_MANAGED"}
        kinds = getattr(libraries.trt, "ExecutionContextAllocationStrategy", None)
        if kinds is None or allocation == "runtime":
            why = "memory that the user manages is not offered here"
            if kinds is None:
                why = f"TensorRT {libraries.trt.__version__} allocates statically"
            raise UnsupportedError(f"allocation={allocation}", why=why)
        context = engine.create_execution_context(member(kinds, words[allocation], allocation))
    if context is not None:
        return context
    why = log.why("TensorRT gave no reason")
    if is_out_of_memory(why) or not log.errors:
        raise MemoryError(f"creating an execution context: {why}")
    raise BackendError("creating an execution context", why=why)


def choose_profile(engine: Any, context: Any, index: int, stream: int) -> None:
    """Switch a context to an optimization profile."""
    count = engine.num_optimization_profiles
    if not 0 <= index < count:
        what = f"profile_index={index}"
        raise UsageError(what, why=f"the engine has {count} optimization profiles, from 0")
    if index and not context.set_optimization_profile_async(index, stream):
        raise BackendError(f"optimization profile {index}", why="TensorRT refused it")


def set_weight_budget(engine: Any, budget: str) -> None:
    """Say how much of the weights may stay on the device (weight streaming).

    Args:
        budget: ``auto``, ``off``, a share such as ``50%`` of the streamable weights, or bytes.
    """
    if not (total := getattr(engine, "streamable_weights_size", None)):
        why = "the engine has no streamable weights" if total == 0 else "this TensorRT is older"
        hint = "build with weight_streaming=1 and strongly_typed=1, on TensorRT 10 or later"
        raise UnsupportedError(f"weight_streaming_budget={budget}", why=why, hint=hint)
    if budget == "auto":
        wanted = engine.get_weight_streaming_automatic_budget()
    elif budget == "off":
        wanted = total
    elif budget.endswith("%"):
        wanted = int(total * float(budget[:-1]) / 100)
    else:
        wanted = parse_bytes(budget)
    engine.weight_streaming_budget_v2 = wanted


def activation_bytes(engine: Any) -> int | None:
    """Return scratch and activation memory of one context, as TensorRT states it."""
    names = ("device_memory_size_v2", "device_memory_size")
    sizes = (getattr(engine, name, None) for name in names)
    return next((int(size) for size in sizes if size is not None), None)


def refit_from_onnx(libraries: Libraries, logger: Any, engine: Any, path: str, log: Log) -> None:
    """Give `engine` the weights of the model at `path`.

    Raises:
        UsageError: There is no such file.
        UnsupportedError: This TensorRT has no such refitter (it came with 10), or the engine cannot
            be refitted.
        BackendError: The model does not fit the engine.
    """
    if not Path(path).is_file():
        raise UsageError(f"refit_from={path}", why="no such file")
    trt = libraries.trt
    if (make := getattr(trt, "OnnxParserRefitter", None)) is None:
        raise UnsupportedError("refit_from", why=f"TensorRT {trt.__version__} cannot do it")
    if not engine.refittable:
        raise UnsupportedError("refit_from", why="the engine is not refittable", hint="refit=1")
    refitter = trt.Refitter(engine, logger)
    if not make(refitter, logger).refit_from_file(path) or not refitter.refit_cuda_engine():
        raise BackendError(f"refitting from {path}", why=log.why("TensorRT gave no reason"))
