"""Distances in units in the last place, and how they are spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.model.tensor import DataType

#: Upper ends of the bins; the last is open. Bin 0 holds what is equal.
ULP_EDGES: tuple[int, ...] = (0, 1, 2, 4, 8, 16, 64, 256, 1024, 4096, 65_536, 1 << 20, 1 << 24)
ULP_BINS = len(ULP_EDGES) + 1

_BITS: dict[DataType, tuple[Any, Any]] = {
    DataType.FP16: (np.int16, np.int64),
    DataType.BF16: (np.int16, np.int64),
    DataType.FP32: (np.int32, np.int64),
    DataType.FP64: (np.int64, np.uint64),
}


def has_ulps(dtype: DataType) -> bool:
    """Whether the type has places whose last can be counted here."""
    return dtype in _BITS


def ulp_distances(reference: Any, candidate: Any, dtype: DataType) -> Any:
    """Return how many numbers of the type lie between each pair, as unsigned 64 bits.

    Parameters
    ----------
    reference, candidate : numpy.ndarray
        Of the type itself (BF16 as its bits), without NaN.
    """
    a, b = _ordered(reference, dtype), _ordered(candidate, dtype)
    return np.where(a > b, a - b, b - a)


def _ordered(values: Any, dtype: DataType) -> Any:
    """Return unsigned integers in the order of the numbers, one apart for neighbours."""
    bits = _BITS[dtype][0]
    signed = np.ascontiguousarray(values).view(bits).astype(np.int64)
    width = np.dtype(bits).itemsize * 8
    middle = np.uint64(1 << 63)
    magnitude = (signed & np.int64((1 << (width - 1)) - 1)).astype(np.uint64)
    return np.where(signed < 0, middle - magnitude, middle + magnitude)


def ulp_counts(distances: Any) -> Any:
    """Return how many distances fall into each bin."""
    edges = np.asarray(ULP_EDGES, dtype=np.uint64)
    return np.bincount(np.searchsorted(edges, distances, side="left"), minlength=ULP_BINS)
