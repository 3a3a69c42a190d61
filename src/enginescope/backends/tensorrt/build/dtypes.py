"""TensorRT's element types, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.records.tensor import DataType

_BY_NAME = {
    "FLOAT": DataType.FP32,
    "HALF": DataType.FP16,
    "BF16": DataType.BF16,
    "FP8": DataType.FP8,
    "FP4": DataType.FP4,
    "E8M0": DataType.E8M0,
    "INT64": DataType.INT64,
    "INT32": DataType.INT32,
    "INT8": DataType.INT8,
    "INT4": DataType.INT4,
    "UINT8": DataType.UINT8,
    "BOOL": DataType.BOOL,
}

#: Types that NumPy has; the others are held as raw bytes.
NUMPY: dict[DataType, Any] = {
    DataType.FP32: np.float32,
    DataType.FP16: np.float16,
    DataType.INT64: np.int64,
    DataType.INT32: np.int32,
    DataType.INT8: np.int8,
    DataType.UINT8: np.uint8,
    DataType.BOOL: np.bool_,
}


def dtype_of(trt_type: Any) -> DataType | None:
    """Return the type; ``None`` for one this program does not know."""
    return _BY_NAME.get(trt_type.name)
