"""Element types of feeds in NumPy's terms."""

from __future__ import annotations

import numpy as np

from enginescope.records.tensor import DataType

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

#: Types of four bits: two to a byte.
PACKED = frozenset({DataType.INT4, DataType.UINT4, DataType.FP4})
#: Types that NumPy lacks -> the type that holds their bits.
RAW_TYPES = {
    DataType.BF16: np.uint16,
    DataType.FP8: np.uint8,
    DataType.E8M0: np.uint8,
    **dict.fromkeys(PACKED, np.uint8),
}
