"""What an ONNX model asks for, read from the file: trtexec does not say it before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from enginescope.backends.base import InputSpec
from enginescope.core.errors import BackendError
from enginescope.core.optional import require
from enginescope.records.tensor import DataType

#: ONNX's names of element types, where they are not TensorRT's.
_TYPES = {
    "FLOAT": DataType.FP32,
    "DOUBLE": DataType.FP64,
    "FLOAT16": DataType.FP16,
    "BFLOAT16": DataType.BF16,
    "FLOAT8E4M3FN": DataType.FP8,
    "FLOAT8E8M0": DataType.E8M0,
    "FLOAT4E2M1": DataType.FP4,
    **{
        one.name: one
        for one in DataType
        if one.name.startswith(("INT", "UINT", "COMPLEX")) or one.name in ("BOOL", "STRING")
    },
}


def onnx_inputs(path: Path) -> tuple[InputSpec, ...]:
    """Return the inputs of a model, those with an initial value left out.

    Raises:
        MissingDependencyError: The onnx package is not installed.
        BackendError: The file is no ONNX model.
    """
    onnx = require("onnx", purpose="reading a model's inputs", install="enginescope")
    try:
        graph = onnx.load(str(path), load_external_data=False).graph
    except Exception as error:  # each protobuf runtime has a DecodeError of its own
        raise BackendError(f"reading {path.name}", why=f"it is no ONNX model ({error})") from error
    constant = {one.name for one in graph.initializer}
    constant |= {one.values.name for one in graph.sparse_initializer}
    return tuple(_spec(onnx, one) for one in graph.input if one.name not in constant)


def _spec(onnx: Any, value: Any) -> InputSpec:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return InputSpec(name=value.name, dtype=None, shape=(), type_text=str(kind))
    tensor = value.type.tensor_type
    word = onnx.TensorProto.DataType.Name(tensor.elem_type)
    return InputSpec(
        name=value.name,
        dtype=_TYPES.get(word),
        shape=tuple(_dim(one) for one in tensor.shape.dim),
        type_text=f"tensor({word.lower()})",
    )


def _dim(dim: Any) -> int | str | None:
    if dim.WhichOneof("value") == "dim_value":
        return int(dim.dim_value)
    return str(dim.dim_param) or None


def at_optimum(specs: tuple[InputSpec, ...], options: Mapping[str, str]) -> tuple[InputSpec, ...]:
    """Return the inputs with the shapes that the engine is built for as what they are by default.

    Those of the optimisation profile in use: its optimum, else its largest, else its smallest.
    """
    index = int(options.get("profile_index", "0"))
    shapes: dict[str, tuple[int, ...]] = {}
    for key in ("min_shapes", "max_shapes", "opt_shapes"):  # the last one counts
        profiles = options.get(key, "").split(";")
        if index < len(profiles) and profiles[index]:
            shapes |= dict(_shape(one) for one in profiles[index].split(","))
    return tuple(msgspec.structs.replace(one, default_shape=_fitting(one, shapes)) for one in specs)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, dims = text.rpartition(":")
    return name.strip("'"), tuple(int(one) for one in dims.split("x"))


def _fitting(spec: InputSpec, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...] | None:
    shape = shapes.get(spec.name)
    return shape if shape is not None and len(shape) == len(spec.shape) else None
