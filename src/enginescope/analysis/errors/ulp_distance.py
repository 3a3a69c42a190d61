"""Distances in units in the last place, and how they are spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.records.tensor import DataType

#: Upper ends of the bins, 0 and powers of two; the last is open. Bin 0 holds what is equal.
ULP_EDGES: tuple[int, ...] = (0, 1, 2, 4, 8, 16, 64, 256, 1024, 4096, 65_536, 1 << 20, 1 << 24)
ULP_BINS = len(ULP_EDGES) + 1

_BITS: dict[DataType, Any] = {
    DataType.FP16: np.int16,
    DataType.BF16: np.int16,
    DataType.FP32: np.int32,
    DataType.FP64: np.int64,
}
# Bin of a distance above 0 by the bits of (distance − 1): every edge but 0 is a power of two.
_MOST_BITS = 65  # a distance near 2⁶⁴ rounds up to it
_BIN = np.searchsorted(ULP_EDGES, [2.0**bits for bits in range(_MOST_BITS + 1)])


def has_ulps(dtype: DataType) -> bool:
    """Whether the type has places whose last can be counted here."""
    return dtype in _BITS


def ulp_distances(reference: Any, candidate: Any, dtype: DataType) -> Any:
    """Return how many numbers of the type lie between each pair, as unsigned 64 bits.

    Args:
        reference, candidate: Of the type itself (BF16 as its bits), without NaN.
    """
    if dtype is DataType.FP64:
        a, b = _ordered_wide(reference), _ordered_wide(candidate)
        return np.where(a > b, a - b, b - a)
    a, b = _ordered(reference, dtype), _ordered(candidate, dtype)
    return np.abs(np.subtract(a, b, dtype=np.int64)).view(np.uint64)


def _ordered(values: Any, dtype: DataType) -> Any:
    """Return signed integers in the order of the numbers, one apart for neighbours."""
    bits = _BITS[dtype]
    signed = np.ascontiguousarray(values).view(bits)
    # the magnitude's bits; of a negative number, all of them turned over and one added
    sign = signed >> (np.dtype(bits).itemsize * 8 - 1)
    return ((signed & np.iinfo(bits).max) ^ sign) - sign


def _ordered_wide(values: Any) -> Any:
    """Return the same of FP64, unsigned: the distances of signed ones would not fit."""
    signed = np.ascontiguousarray(values).view(np.int64)
    middle = np.uint64(1 << 63)
    magnitude = (signed & np.iinfo(np.int64).max).astype(np.uint64)
    return np.where(signed < 0, middle - magnitude, middle + magnitude)


def ulp_counts(distances: Any) -> Any:
    """Return how many distances fall into each bin."""
    # A float64's exponent is the number of bits. Those of more than 53 round: all in the last bin.
    wide = distances.astype(np.float64) - 1.0
    exponents = (wide.view(np.int64) >> 52) & 0x7FF
    bits = np.maximum(exponents, 1022) - 1022  # 0 for a distance of 1
    equal = np.count_nonzero(distances == 0)
    by_bits = np.bincount(bits, minlength=_MOST_BITS + 1)
    by_bits[1] -= equal  # −1 has the exponent of 1
    counts = np.bincount(_BIN, weights=by_bits, minlength=ULP_BINS).astype(np.int64)
    counts[0] = equal
    return counts
