"""Values of an answer as numbers that can be subtracted, whatever type they were held in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from enginescope.records.run.tensor_values import TensorValues
from enginescope.records.tensor import DataType

_FLOATS = frozenset(
    {
        DataType.FP64,
        DataType.FP32,
        DataType.FP16,
        DataType.BF16,
        DataType.FP8,
        DataType.FP4,
        DataType.E8M0,
    }
)
_COMPLEX = frozenset({DataType.COMPLEX64, DataType.COMPLEX128})
_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=np.float32)


def kind_of(dtype: DataType) -> str:
    """Return ``float``, ``complex``, ``int``, ``bool`` or ``string``."""
    if dtype in _FLOATS:
        return "float"
    if dtype in _COMPLEX:
        return "complex"
    if dtype in (DataType.BOOL, DataType.STRING):
        return "bool" if dtype is DataType.BOOL else "string"
    return "int"


def flat_numbers(values: TensorValues) -> Any:
    """Return the values as a flat array: raw types decoded, a complex number as two.

    Floats that NumPy has keep their type, so that a chunk of them can be widened at a time.
    """
    data, dtype = np.asarray(values.data), values.dtype
    if dtype is DataType.BF16 and data.dtype != np.float32:
        bits = np.ascontiguousarray(data).reshape(-1).view(np.uint16).astype(np.uint32)
        return (bits << 16).view(np.float32)
    if dtype in (DataType.FP8, DataType.E8M0) and data.dtype == np.uint8:
        table = _E4M3 if dtype is DataType.FP8 else _E8M0
        return table[data.reshape(-1)]
    if dtype in (DataType.FP4, DataType.INT4, DataType.UINT4) and data.dtype == np.uint8:
        return _nibbles(data.reshape(-1), dtype, math.prod(values.shape))
    flat = data.reshape(-1)
    if dtype in _COMPLEX:
        wide = np.ascontiguousarray(flat)
        return wide.view(np.float32 if wide.dtype == np.complex64 else np.float64)
    return flat


def _nibbles(data: Any, dtype: DataType, count: int) -> Any:
    """Return two values of each byte, the lower half first."""
    codes = np.stack([data & 15, data >> 4], axis=1).reshape(-1)[:count]
    if dtype is DataType.FP4:
        return np.where(codes & 8, -1, 1).astype(np.float32) * _FP4[codes & 7]
    signed = codes.astype(np.int8)
    return np.where(signed > 7, signed - 16, signed) if dtype is DataType.INT4 else signed


def _e4m3() -> Any:
    codes = np.arange(256)
    exponent, fraction = (codes >> 3) & 15, codes & 7
    small = fraction / 8 * 2.0**-6
    value = np.where(exponent == 0, small, (1 + fraction / 8) * 2.0 ** (exponent - 7.0))
    value = np.where((codes & 127) == 127, np.nan, value)
    return np.where(codes & 128, -value, value).astype(np.float32)


_E4M3 = _e4m3()
_E8M0 = np.append(2.0 ** (np.arange(255) - 127.0), np.nan)
