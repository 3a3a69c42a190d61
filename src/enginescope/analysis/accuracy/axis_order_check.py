"""Whether values are the right ones in the wrong places: axes swapped, channels reversed.

A map that looks much alike from both corners, or a picture whose channels resemble each other, may
be within wide limits with its axes swapped or its channels reversed, and is still wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from enginescope.analysis.accuracy.nearest_reference import are_apart, squared_distance
from enginescope.analysis.errors.output_numbers import flat_numbers, kind_of
from enginescope.records.run.tensor_values import TensorValues

#: Rows and columns that are looked at, of more every n-th; items of a batch; and elements.
_MOST_SIDE = 256
_MOST_ITEMS = 2
_ENOUGH_ELEMENTS = 1 << 16
_CHANNELS = (3, 4)
_SWAPPED, _REVERSED = "its last two axes swapped", "its channels reversed"

_Change: TypeAlias = Callable[[Any], Any]


class NearestArrangement:
    """Follows one output over the samples.

    Attributes:
        samples: By arrangement, samples in which it could be told from the right one.
        astray: By arrangement, samples whose answer is nearer to the reference arranged so.
    """

    def __init__(self) -> None:
        self.samples: dict[str, int] = {}
        self.astray: dict[str, int] = {}

    def add(self, reference: TensorValues, candidate: TensorValues) -> None:
        """Add one sample's output, of the same shape on both sides."""
        shape = reference.shape
        if kind_of(reference.dtype) not in ("float", "int") or len(shape) < 2 or 0 in shape:
            return
        a, b = (flat_numbers(one).reshape(shape) for one in (reference, candidate))
        for name, thin, arrange in _arrangements(shape):
            ours, theirs = _wide(thin(a)), _wide(thin(b))
            arranged = arrange(ours)
            own, other = squared_distance(ours, theirs), squared_distance(arranged, theirs)
            gap = squared_distance(ours, arranged)
            if not are_apart(gap, min(own, other), ours.size):
                continue
            self.samples[name] = self.samples.get(name, 0) + 1
            if other < own:
                self.astray[name] = self.astray.get(name, 0) + 1


def _arrangements(shape: tuple[int, ...]) -> Iterator[tuple[str, _Change, _Change]]:
    """Yield other arrangements of a shape: name, what is looked at, and how that is arranged."""
    if len(shape) != 4:
        axis = None
    else:
        axis = next((one for one in (1, 3) if shape[one] in _CHANNELS), None)
    if shape[-1] == shape[-2] > 1:
        yield _SWAPPED, partial(_squares, side=shape[-1]), _swapped
    if axis == 1:
        step = max(1, max(shape[2:]) // _MOST_SIDE)
        yield _REVERSED, lambda one: one[:_MOST_ITEMS, :, ::step, ::step], lambda one: one[:, ::-1]
    elif axis == 3:
        step = max(1, max(shape[1:3]) // _MOST_SIDE)
        yield _REVERSED, lambda one: one[:_MOST_ITEMS, ::step, ::step], lambda one: one[..., ::-1]


def _squares(array: Any, side: int) -> Any:
    """Return some of the squares that the last two axes are, each thinned alike on both."""
    step = max(1, side // _MOST_SIDE)
    thinned = array.reshape(-1, side, side)[:, ::step, ::step]
    enough = max(1, _ENOUGH_ELEMENTS // thinned[0].size)
    return thinned[:: max(1, len(thinned) // enough)]


def _swapped(array: Any) -> Any:
    return array.swapaxes(-1, -2)


def _wide(array: Any) -> Any:
    wide = array.astype(np.float64)
    return np.where(np.isfinite(wide), wide, 0.0)
