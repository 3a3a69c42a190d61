"""Values of a tensor, of any element type."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.records.samples import Array
from enginescope.records.tensor import DataType


class TensorValues(Record, frozen=True, kw_only=True, eq=False):
    """A tensor with its values.

    Attributes:
        data: In NumPy's own type and in `shape` where it has the type; else the raw bytes, uint8,
            shape (nbytes,): BF16, FP8, FP4, INT4.
    """

    name: str
    dtype: DataType
    shape: tuple[int, ...]
    data: Array
