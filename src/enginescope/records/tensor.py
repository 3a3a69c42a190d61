"""Data types, memory layouts and tensors, whatever wrote them down."""

import math
import re
from enum import Enum
from typing import cast

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
        return _BITS[self._name_]


#: Types of four bits: two to a byte.
PACKED = frozenset({DataType.INT4, DataType.UINT4, DataType.FP4})
#: Types that NumPy has -> its names.
NUMPY = {DataType.FP64: "float64", DataType.FP32: "float32", DataType.FP16: "float16"} | {
    one: one.name.lower()
    for one in DataType
    if one.name.startswith(("INT", "UINT", "BOOL", "COMPLEX")) and one not in PACKED
}
# By name: hashing a member calls Python, and a large plan asks half a million times.
_BITS: dict[str, int | None] = {
    **{one.name: int(re.sub(r"\D", "", one.name) or 8) for one in DataType},
    "E8M0": 8,
    "STRING": None,
}


class Layout(Record, frozen=True, kw_only=True, gc=False):
    """How a tensor lies in memory.

    Attributes:
        name: Short name: ``NCHW``, ``NC/32HW32``, ``NHWC8``; ``"linear"`` when only that is known.
        vector_axis: Axis whose length is padded to a multiple of `vector_width`.
        vector_width: That multiple, in elements.
        text: The words of the source, unshortened.
    """

    name: str
    text: str
    vector_axis: int | None = None
    vector_width: int | None = None


class Tensor(Record, frozen=True, kw_only=True, gc=False):
    """A tensor of a plan or a model: identity and shape, no values.

    Attributes:
        shape: ``None`` as a dimension is a dynamic one; ``None`` as the whole: not known.
        location: ``"Device"`` or ``"Host"``, as the source says it.
    """

    name: str
    shape: tuple[int | None, ...] | None = None
    dtype: DataType | None = None
    layout: Layout | None = None
    location: str | None = None

    @property
    def elements(self) -> int | None:
        """Number of elements; ``None`` when any dimension is not known."""
        shape = self.shape
        if shape is None or None in shape:
            return None
        return math.prod(cast("tuple[int, ...]", shape))

    @property
    def nbytes(self) -> int | None:
        """Bytes of the values alone: elements × element size, without padding."""
        # All in one: a page over a large plan asks half a million times.
        shape, dtype = self.shape, self.dtype
        if shape is None or dtype is None or None in shape:
            return None
        bits = _BITS[dtype._name_]
        return None if bits is None else -(-math.prod(shape) * bits // 8)  # type: ignore[arg-type]

    @property
    def padded_nbytes(self) -> int | None:
        """Bytes with the padding of a vectorized layout, such as 32 channels at a time."""
        layout = self.layout
        if layout is None or layout.vector_width is None or self.shape is None:
            return self.nbytes
        axis = layout.vector_axis
        if axis is None or axis >= len(self.shape) or self.shape[axis] is None:
            return self.nbytes
        shape = list(self.shape)
        width = layout.vector_width
        shape[axis] = math.ceil((shape[axis] or 0) / width) * width
        return Tensor(name=self.name, shape=tuple(shape), dtype=self.dtype).nbytes
