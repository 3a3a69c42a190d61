"""Whether answers belong to their own samples: is another sample's reference nearer?

Outputs of one model resemble each other. A side that mixes samples up may then be within any
tolerance that is wide enough for INT8, and is still wrong.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from enginescope.analysis.answer_numbers import flat_numbers, kind_of
from enginescope.model.tensor_values import TensorValues

#: Samples that each one is held against: those before it, and it again by those after.
KEPT = 3
#: Of more elements every n-th is taken: the distances of so many tell samples apart.
_ENOUGH_ELEMENTS = 1 << 16


class NearestReference:
    """Follows one output over the samples.

    Attributes
    ----------
    samples : int
        Samples that had another to be held against.
    """

    def __init__(self) -> None:
        self._kept: deque[tuple[int, Any, Any, float]] = deque(maxlen=KEPT)
        self._compared: set[int] = set()
        self._astray: set[int] = set()

    @property
    def samples(self) -> int:
        """Samples that had another to be held against."""
        return len(self._compared)

    @property
    def astray(self) -> int:
        """Samples whose answer is nearer to another sample's reference than to its own."""
        return len(self._astray)

    def add(self, sample: int, reference: TensorValues, candidate: TensorValues) -> None:
        """Add one sample's output, of the same shape on both sides."""
        if kind_of(reference.dtype) not in ("float", "int"):
            return
        a, b = _part(reference), _part(candidate)
        own = _distance(a, b)
        for other, other_a, other_b, other_own in self._kept:
            if other_a.shape != a.shape or np.array_equal(a, other_a):
                continue
            self._compared |= {sample, other}
            if _distance(other_a, b) < own:
                self._astray.add(sample)
            if _distance(a, other_b) < other_own:
                self._astray.add(other)
        self._kept.append((sample, a, b, own))


def _part(values: TensorValues) -> Any:
    flat = flat_numbers(values)
    wide = flat[:: max(1, flat.size // _ENOUGH_ELEMENTS)].astype(np.float64)
    return np.where(np.isfinite(wide), wide, 0.0)


def _distance(a: Any, b: Any) -> float:
    with np.errstate(over="ignore"):
        return float(np.square(a - b).sum())
