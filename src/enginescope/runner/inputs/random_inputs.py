"""Seeded random values for inputs, in trtexec's ranges.

Element types of feeds in NumPy's terms.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

from enginescope.backends.base import InputSpec
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.records.run.job import InputRange
from enginescope.records.tensor import PACKED, DataType

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
#: The largest finite bfloat16, 0x7F7F: eight significant bits and the exponent of 2¹²⁷.
LARGEST_BF16 = 0xFF << 120


def random_array(
    spec: InputSpec, shape: tuple[int, ...], seed: int, bounds: InputRange | None
) -> Any:
    """Return random values in trtexec's ranges: floats −1…1, integers −128…127, uint8 0…255.

    Raises:
        UsageError: The type cannot hold the bounds.
        UnsupportedError: The type has no random values here.
    """
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
        raise UnsupportedError(
            f"input {spec.name} of type {spec.type_text}", why="it cannot be filled at random"
        )
    kind = np.dtype(NUMPY_TYPES[dtype])
    if bounds is not None and kind.kind in "iub":
        # drawn wide, then narrowed: an engine may hold as INT32 what its model holds as INT64
        drawn: Any = np.uint64 if kind == np.uint64 else np.int64
        return generator.integers(low, high, shape, drawn, endpoint=True).astype(kind)
    if kind.kind == "b":
        return generator.integers(0, 2, shape).astype(kind)
    if kind.kind == "u":
        return generator.integers(0, 255, shape, endpoint=True).astype(kind)
    if kind.kind == "i":
        return generator.integers(-128, 127, shape, endpoint=True).astype(kind)
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
    """Raise `UsageError` unless the input's type holds both bounds."""
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
        raise UsageError(
            f"range {bounds.low}:{bounds.high} for input {spec.name}",
            why=f"{spec.type_text} holds no such values",
        )
