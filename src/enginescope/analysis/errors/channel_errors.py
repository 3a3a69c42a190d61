"""Errors of an output by channel: sums along the axes on which channels may lie.

Also an output as numbers that can be subtracted, whatever type they were held in.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from enginescope.analysis.errors.error_moments import CHUNK
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType

_FLOATS = frozenset(
    {
        *(DataType.FP64, DataType.FP32, DataType.FP16, DataType.BF16),
        *(DataType.FP8, DataType.FP4, DataType.E8M0),
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


#: A longer axis holds no channels: sequences, flattened maps.
MOST_CHANNELS = 1 << 17
#: Numbers of channels that colors have.
_COLORS = (1, 3, 4)


class ChannelErrors:
    """Sums by channel along one axis, over the samples.

    Elements that are not finite on either side are left out of the sums and of `count`.

    Attributes:
        is_spatial: Whether the axis is one of places in a map: those have no scale of their own.
        count: Finite elements of each channel.
        total, energy, squares, cross: Sums of the reference, of its squares, of the squared errors,
            and of their products.
        low, high, largest: Smallest reference, largest |reference| and largest |error|.
        where: Sample of the largest error.
    """

    def __init__(self, axis: int, length: int, *, is_spatial: bool = False) -> None:
        self.axis, self.is_spatial = axis, is_spatial
        self.samples = 0
        self.count = np.zeros(length, dtype=np.int64)
        self.where = np.zeros(length, dtype=np.int64)
        self.total, self.energy, self.squares, self.cross = np.zeros((4, length))
        self.high, self.largest = np.zeros((2, length))
        self.low = np.full(length, np.inf)

    def add(self, reference: Any, candidate: Any, sample: int) -> None:
        """Add one sample: two arrays of the same shape."""
        length = self.count.size
        sides = (np.moveaxis(values, self.axis, 0) for values in (reference, candidate))
        a, b = (values.reshape(length, -1) for values in sides)
        self.samples += 1
        step = max(1, CHUNK // max(a.shape[1], 1))
        for begin in range(0, length, step):
            part = slice(begin, begin + step)
            self._add_block(part, a[part].astype(np.float64), b[part].astype(np.float64), sample)

    def _add_block(self, channels: slice, reference: Any, candidate: Any, sample: int) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            error = candidate - reference
            known = np.isfinite(reference) & np.isfinite(candidate)
            if known.all():
                lowest = reference.min(axis=1, initial=np.inf)
                self.count[channels] += known.shape[1]
            else:
                lowest = np.where(known, reference, np.inf).min(axis=1, initial=np.inf)
                error, reference = np.where(known, error, 0.0), np.where(known, reference, 0.0)
                self.count[channels] += known.sum(axis=1)
            self.total[channels] += reference.sum(axis=1)
            self.energy[channels] += np.square(reference).sum(axis=1)
            self.squares[channels] += np.square(error).sum(axis=1)
            self.cross[channels] += (error * reference).sum(axis=1)
        self.low[channels] = np.minimum(self.low[channels], lowest)
        high = np.abs(reference).max(axis=1, initial=0.0)
        self.high[channels] = np.maximum(self.high[channels], high)
        largest = np.abs(error).max(axis=1, initial=0.0)
        self.where[channels] = np.where(
            largest > self.largest[channels], sample, self.where[channels]
        )
        self.largest[channels] = np.maximum(self.largest[channels], largest)

    @property
    def rmse(self) -> Any:
        """Root of the mean squared error of each channel; NaN without a finite element."""
        return self._root(self.squares)

    @property
    def norm(self) -> Any:
        """Root mean square of the reference in each channel; NaN without a finite element."""
        return self._root(self.energy)

    def _root(self, sums: Any) -> Any:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.sqrt(sums / self.count)


class ChannelAxes:
    """Errors along the second and the last axis of an output.

    Channels lie on either: classes and boxes are columns of rows, maps have theirs first or last,
    and then the other axis is one of places. An axis whose length differs between samples is
    dropped.
    """

    def __init__(self) -> None:
        self._by_axis: dict[int, ChannelErrors] | None = None

    def add(self, reference: TensorValues, candidate: TensorValues, sample: int = 0) -> None:
        """Add one sample's output, of the same shape on both sides."""
        shape = reference.shape
        # a sample without rows says nothing of the columns
        if kind_of(reference.dtype) not in ("float", "int") or 0 in shape:
            return
        lengths = dict(_axes(shape))
        if self._by_axis is None:
            places = _places(shape)
            self._by_axis = {
                end: ChannelErrors(end % len(shape), length, is_spatial=end == places)
                for end, length in lengths.items()
            }
        for end in list(self._by_axis):
            if lengths.get(end) != self._by_axis[end].count.size:
                del self._by_axis[end]
        if not self._by_axis:
            return
        a, b = (flat_numbers(values).reshape(shape) for values in (reference, candidate))
        for end, errors in self._by_axis.items():
            errors.axis = end % len(shape)
            errors.add(a, b, sample)

    @property
    def axes(self) -> tuple[ChannelErrors, ...]:
        """The errors along each axis."""
        return tuple((self._by_axis or {}).values())

    def shown(self) -> ChannelErrors | None:
        """Return the errors along the axis that reports show; ``None`` without channels."""
        return next((errors for errors in self.axes if not errors.is_spatial), None)


def _axes(shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield the axes of channels, −1 for the last, with their lengths."""
    for end in (1, -1):
        if end == 1 and len(shape) < 3:  # the second axis of two is the last
            continue
        if shape and 2 <= shape[end] <= MOST_CHANNELS:
            yield end, shape[end]


def _places(shape: tuple[int, ...]) -> int | None:
    """Return the axis, 1 or −1, that is one of places in a map; ``None`` for fewer than four axes.

    Height and width are more alike than either is to the number of channels; of channels there are
    often as many as colors.
    """
    if len(shape) < 4:
        return None
    if shape[1] in _COLORS:
        return -1
    first, middle, last = shape[-3:]
    before, after = (max(pair) / min(pair) for pair in ((first, middle), (middle, last)))
    return 1 if last in _COLORS or before < after else -1
