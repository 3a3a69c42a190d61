"""Values of a tensor, of any element type."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.model.samples import Array
from enginescope.model.tensor import DataType


class TensorValues(Record, frozen=True, kw_only=True, eq=False):
    """A tensor with its values.

    Attributes
    ----------
    name : str
    dtype : DataType
    shape : tuple of int
    data : numpy.ndarray
        In NumPy's own type and in `shape` where it has the type; else the raw bytes, uint8, shape
        (nbytes,): BF16, FP8, FP4, INT4.
    """

    name: str
    dtype: DataType
    shape: tuple[int, ...]
    data: Array
