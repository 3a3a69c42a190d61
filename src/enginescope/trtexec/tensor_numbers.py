"""Values of a tensor as plain numbers, for the element types NumPy does not have too."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from enginescope.model.samples import Array
from enginescope.model.tensor import DataType
from enginescope.model.tensor_values import TensorValues


def numbers_of(tensor: TensorValues) -> Array:
    """Return the values, shape (elements,): whole numbers, booleans as 0 and 1, or floats.

    BF16 and FP8 (E4M3) become float32; two INT4 or FP4 (E2M1) lie in a byte, the low half first;
    E8M0 is a power of two.
    """
    count = math.prod(tensor.shape)
    raw = np.ascontiguousarray(tensor.data).reshape(-1)
    if tensor.dtype is DataType.BF16:
        return _halves(raw)[:count]
    if tensor.dtype in (DataType.INT4, DataType.FP4):
        nibbles = _nibbles(raw.view(np.uint8))[:count]
        return _signed(nibbles) if tensor.dtype is DataType.INT4 else _small_floats(1)[nibbles]
    if tensor.dtype is DataType.FP8:
        return _small_floats(3)[raw.view(np.uint8)][:count]
    if tensor.dtype is DataType.E8M0:
        return _powers()[raw.view(np.uint8)][:count]
    return raw.astype(np.uint8) if raw.dtype == np.bool_ else raw


def _halves(raw: Array) -> Array:
    upper: Array = raw.view(np.uint16).astype(np.uint32) << np.uint32(16)
    return upper.view(np.float32)


def _nibbles(raw: Array) -> Array:
    return np.stack([raw & 0xF, raw >> 4], axis=1).reshape(-1)


def _signed(nibbles: Array) -> Array:
    values = nibbles.astype(np.int8)
    return np.where(values > 7, values - 16, values)


@lru_cache(maxsize=2)
def _small_floats(mantissa_bits: int) -> Array:
    """Return every value of E4M3 (3 bits of mantissa) or E2M1 (1 bit), by its code.

    Source: the OCP formats of 8 and 4 bits; neither has infinities, E4M3 has one NaN a sign.
    """
    exponent_bits = 4 if mantissa_bits == 3 else 2
    size = 1 << (1 + exponent_bits + mantissa_bits)
    codes = np.arange(size)
    sign = np.where(codes >= size // 2, -1.0, 1.0)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    bias = (1 << (exponent_bits - 1)) - 1
    normal = (1 + fraction) * 2.0 ** (exponent - bias)
    values = sign * np.where(exponent == 0, fraction * 2.0 ** (1 - bias), normal)
    if mantissa_bits == 3:
        values[(codes & 0x7F) == 0x7F] = np.nan
    return values.astype(np.float32)


@lru_cache(maxsize=1)
def _powers() -> Array:
    values = 2.0 ** (np.arange(256) - 127.0)
    values[255] = np.nan
    return values
