"""Whether an output was rounded to 8 bits although its row of limits is of a finer type."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.analysis.errors.output_numbers import flat_numbers, kind_of
from enginescope.records.run.tensor_values import TensorValues

#: Different values that 8 bits have, and those of the rounded reference that they are too few for.
_EIGHT_BITS, _MANY = 256, 512
#: Of more elements in a sample every n-th is looked at.
_ENOUGH_ELEMENTS = 1 << 14
#: Types whose values are finer than 8 bits, by row.
_TYPES = {"fp64": np.float64, "fp32": np.float32, "tf32": np.float16, "fp16": np.float16}


class ValueSteps:
    """Counts the different values of both sides, until this side has more than 8 bits have.

    Attributes:
        reference, candidate: Different values: of the reference rounded to the row's type, and of
            this side.
    """

    def __init__(self, row: str) -> None:
        self._row = row
        self._values: tuple[Any, Any] = (np.zeros(0), np.zeros(0))
        self._is_open = row in (*_TYPES, "bf16")

    @property
    def reference(self) -> int:
        """Different values of the reference."""
        return len(self._values[0])

    @property
    def candidate(self) -> int:
        """Different values of this side."""
        return len(self._values[1])

    @property
    def are_few(self) -> bool:
        """Whether this side has no more values than 8 bits, where the row's type has many."""
        return self._is_open and self.reference >= _MANY

    def add(self, reference: TensorValues, candidate: TensorValues) -> None:
        """Add one sample's output, of the same shape on both sides."""
        if not self._is_open or kind_of(reference.dtype) != "float":
            return
        a, b = flat_numbers(reference), flat_numbers(candidate)
        step = max(1, a.size // _ENOUGH_ELEMENTS)
        theirs = np.union1d(self._values[1], b[::step])
        if len(theirs) > _EIGHT_BITS:
            self._is_open, self._values = False, (np.zeros(0), np.zeros(0))
            return
        ours = self._values[0]
        if len(ours) < _MANY:
            ours = np.union1d(ours, _rounded(a[::step], self._row))
        self._values = ours, theirs


def _rounded(values: Any, row: str) -> Any:
    if row == "bf16":  # the upper half of FP32
        bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
        return ((bits + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)
    with np.errstate(over="ignore"):
        return values.astype(_TYPES[row])
