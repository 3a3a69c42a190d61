"""Data types, memory layouts and tensors, whatever wrote them down."""

from __future__ import annotations

import math
from enum import Enum

from enginescope.core.record import Record


class DataType(Enum):
    """An element type; its value is the name shown everywhere."""

    FP64 = "FP64"
    FP32 = "FP32"
    FP16 = "FP16"
    BF16 = "BF16"
    FP8 = "FP8"
    FP4 = "FP4"
    E8M0 = "E8M0"
    INT64 = "INT64"
    INT32 = "INT32"
    INT16 = "INT16"
    INT8 = "INT8"
    INT4 = "INT4"
    UINT64 = "UINT64"
    UINT32 = "UINT32"
    UINT16 = "UINT16"
    UINT8 = "UINT8"
    UINT4 = "UINT4"
    BOOL = "BOOL"
    COMPLEX64 = "COMPLEX64"
    COMPLEX128 = "COMPLEX128"
    STRING = "STRING"

    @property
    def bits(self) -> int | None:
        """Bits per element in memory; ``None`` for strings, which have no fixed size."""
        return _BITS[self]


_BITS: dict[DataType, int | None] = {
    DataType.FP64: 64,
    DataType.FP32: 32,
    DataType.FP16: 16,
    DataType.BF16: 16,
    DataType.FP8: 8,
    DataType.FP4: 4,
    DataType.E8M0: 8,
    DataType.INT64: 64,
    DataType.INT32: 32,
    DataType.INT16: 16,
    DataType.INT8: 8,
    DataType.INT4: 4,
    DataType.UINT64: 64,
    DataType.UINT32: 32,
    DataType.UINT16: 16,
    DataType.UINT8: 8,
    DataType.UINT4: 4,
    DataType.BOOL: 8,
    DataType.COMPLEX64: 64,
    DataType.COMPLEX128: 128,
    DataType.STRING: None,
}


class Layout(Record, frozen=True, kw_only=True, gc=False):
    """How a tensor lies in memory.

    Attributes
    ----------
    name : str
        Short name: ``NCHW``, ``NC/32HW32``, ``NHWC8``; ``"linear"`` when only that is known.
    vector_axis : int or None
        Axis whose length is padded to a multiple of `vector_width`.
    vector_width : int or None
        That multiple, in elements.
    text : str
        The words of the source, unshortened.
    """

    name: str
    text: str
    vector_axis: int | None = None
    vector_width: int | None = None


class Tensor(Record, frozen=True, kw_only=True, gc=False):
    """A tensor of a plan or a model: identity and shape, no values.

    Attributes
    ----------
    name : str
    shape : tuple of (int or None), or None
        ``None`` as a dimension is a dynamic one; ``None`` as the whole: not known.
    dtype : DataType or None
    layout : Layout or None
    location : str or None
        ``"Device"`` or ``"Host"``, as the source says it.
    """

    name: str
    shape: tuple[int | None, ...] | None = None
    dtype: DataType | None = None
    layout: Layout | None = None
    location: str | None = None

    @property
    def elements(self) -> int | None:
        """Number of elements; ``None`` when any dimension is not known."""
        return _count(self.shape)

    @property
    def nbytes(self) -> int | None:
        """Bytes of the values alone: elements × element size, without padding."""
        return _bytes_of(self.elements, self.dtype)

    @property
    def padded_nbytes(self) -> int | None:
        """Bytes with the padding of a vectorised layout, such as 32 channels at a time."""
        layout = self.layout
        if self.shape is None or layout is None or layout.vector_width is None:
            return self.nbytes
        axis = layout.vector_axis
        if axis is None or axis >= len(self.shape) or self.shape[axis] is None:
            return self.nbytes
        shape = list(self.shape)
        width = layout.vector_width
        shape[axis] = math.ceil((shape[axis] or 0) / width) * width
        return _bytes_of(_count(tuple(shape)), self.dtype)


def _count(shape: tuple[int | None, ...] | None) -> int | None:
    if shape is None or any(dim is None for dim in shape):
        return None
    return math.prod(dim for dim in shape if dim is not None)


def _bytes_of(elements: int | None, dtype: DataType | None) -> int | None:
    if elements is None or dtype is None or dtype.bits is None:
        return None
    return math.ceil(elements * dtype.bits / 8)
