"""ONNX Runtime's words for element types."""

from __future__ import annotations

from enginescope.records.tensor import DataType

_TENSOR_TYPES = {
    "float": DataType.FP32,
    "double": DataType.FP64,
    "float16": DataType.FP16,
    "bfloat16": DataType.BF16,
    "int64": DataType.INT64,
    "int32": DataType.INT32,
    "int16": DataType.INT16,
    "int8": DataType.INT8,
    "uint64": DataType.UINT64,
    "uint32": DataType.UINT32,
    "uint16": DataType.UINT16,
    "uint8": DataType.UINT8,
    "bool": DataType.BOOL,
    "string": DataType.STRING,
    "complex64": DataType.COMPLEX64,
    "complex128": DataType.COMPLEX128,
}


def dtype_of(type_text: str) -> DataType | None:
    """Return the element type in ``tensor(float)``; ``None`` for sequences, maps and the rest."""
    if not type_text.startswith("tensor(") or not type_text.endswith(")"):
        return None
    return _TENSOR_TYPES.get(type_text[len("tensor(") : -1])
