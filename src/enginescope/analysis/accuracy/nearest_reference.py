"""Whether answers belong to their own samples: is another sample's reference nearer?

Outputs of one model resemble each other. A side that mixes samples up may then be within any
tolerance that is wide enough for INT8, and is still wrong. Items of a batch are samples too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from enginescope.analysis.errors.output_numbers import flat_numbers, kind_of
from enginescope.records.run.tensor_values import TensorValues

#: Samples that each one is held against: those before it, and it again by those after.
KEPT = 3
#: Items of a batch, the first axis, that are told apart; of more only the first.
_MOST_ITEMS = 64
#: Of more elements every n-th is taken: the distances of so many tell samples apart.
_ENOUGH_ELEMENTS = 1 << 16
#: By how many standard deviations of the side's own error two references must differ for that
#: error not to carry an answer past the middle between them: half of it.
_APART = 6.0
#: So many elements at most are taken to have errors of their own: those of neighbours are alike.
_INDEPENDENT = 256
#: Of squared distances: an answer this many times nearer to another reference belongs to it, even
#: where rounding moves all elements alike.
_CLEARLY = 9.0


class _Item(NamedTuple):
    """A sample, or an item of its batch."""

    at: tuple[int, int]
    reference: Any
    candidate: Any
    own: float


class NearestReference:
    """Follows one output over the samples.

    Attributes:
        samples: Samples, or items of batches, that had another to be told apart from.
    """

    def __init__(self) -> None:
        self._kept: deque[_Item] = deque(maxlen=KEPT)
        self._compared: set[tuple[int, int]] = set()
        self._astray: set[tuple[int, int]] = set()
        self._clear: set[tuple[int, int]] = set()

    @property
    def samples(self) -> int:
        """Samples that had another to be told apart from."""
        return len(self._compared)

    @property
    def astray(self) -> int:
        """Samples whose answer is nearer to another sample's reference than to its own."""
        return len(self._astray)

    @property
    def clearly_astray(self) -> int:
        """Samples whose answer is three times nearer to another sample's reference."""
        return len(self._clear)

    def add(self, sample: int, reference: TensorValues, candidate: TensorValues) -> None:
        """Add one sample's output, of the same shape on both sides."""
        if kind_of(reference.dtype) not in ("float", "int"):
            return
        for number, (a, b) in enumerate(zip(_items(reference), _items(candidate), strict=True)):
            item = _Item((sample, number), a, b, squared_distance(a, b))
            for other in self._kept:
                if other.reference.shape == a.shape:
                    gap = squared_distance(a, other.reference)
                    self._judge(item, other.reference, gap)
                    self._judge(other, a, gap)
            self._kept.append(item)

    def _judge(self, item: _Item, reference: Any, gap: float) -> None:
        """Hold an item against another's reference, where the two can be told apart."""
        other = squared_distance(reference, item.candidate)
        if not are_apart(gap, min(item.own, other), item.reference.size):
            return
        self._compared.add(item.at)
        if other < item.own:
            self._astray.add(item.at)
        if _CLEARLY * other < item.own:
            self._clear.add(item.at)


def _items(values: TensorValues) -> Iterator[Any]:
    """Yield the items along the first axis; the whole where it has none or one."""
    flat, shape = flat_numbers(values), values.shape
    count = shape[0] if len(shape) > 1 and shape[0] > 1 else 1
    for item in flat.reshape(count, -1)[:_MOST_ITEMS]:
        wide = item[:: max(1, item.size // _ENOUGH_ELEMENTS)].astype(np.float64)
        yield np.where(np.isfinite(wide), wide, 0.0)


def are_apart(gap: float, error: float, size: int) -> bool:
    """Whether two references differ by so much that a side's own error cannot hide which is meant.

    Args:
        gap, error: Squared distances: between the references, and of the answer from the nearer
            one.
        size: Elements; their errors cancel, the more of them there are.
    """
    return gap > 0 and gap * min(size, _INDEPENDENT) >= _APART**2 * error


def squared_distance(a: Any, b: Any) -> float:
    """Return the sum of squared differences."""
    with np.errstate(over="ignore"):
        return float(np.square(a - b).sum())
