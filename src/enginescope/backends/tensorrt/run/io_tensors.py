"""An engine's inputs and outputs: what they are, and how many bytes they take."""

from __future__ import annotations

import math
import re
from typing import Any

from enginescope.backends.base import InputSpec
from enginescope.backends.tensorrt.build.dtypes import dtype_of
from enginescope.backends.tensorrt.run.layout import LINEAR
from enginescope.core.record import Record
from enginescope.records.tensor import DataType

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
    """Return the name of a tensor's format."""
    if hasattr(trt, "TensorFormat"):
        return str(engine.get_tensor_format(name).name)
    # the lean bindings lack the type, and asking for it raises; its description names it
    match = _IN_WORDS.search(engine.get_tensor_format_desc(name))
    return match[1] if match else LINEAR


def input_spec(engine: Any, tensor: EngineTensor, profile: int) -> InputSpec:
    """Return what to ask the feeds for; what is dynamic defaults to the profile's optimum."""
    dynamic = None in tensor.shape
    optimum = None
    if dynamic and not tensor.on_host:
        optimum = tuple(engine.get_tensor_profile_shape(tensor.name, profile)[1])
    values = _optimal_values(engine, tensor, profile) if tensor.on_host else None
    return InputSpec(
        name=tensor.name,
        dtype=tensor.dtype,
        shape=tensor.shape,
        type_text=tensor.type_text,
        default_shape=optimum,
        default_values=values,
    )


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
