"""Values in the memory layouts that engines ask for: channels last, or in vectors.

``CHW4`` holds four channels beside each other, ``HWC8`` all of them, filled up to a multiple of
eight; the axis of the channels is the third from the end, with ``D`` in the name the fourth.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: Layout -> elements that the channels are padded to a multiple of.
_LAST = {"HWC": 1, "HWC8": 8, "HWC16": 16, "DHWC": 1, "DHWC8": 8}
_VECTORS = {"CHW2": 2, "CHW4": 4, "CHW16": 16, "CHW32": 32, "CDHW32": 32}
LINEAR = "LINEAR"


def is_known(layout: str) -> bool:
    """Whether values can be put into this layout; those of the DLA are only the DLA's."""
    return layout == LINEAR or layout in _LAST or layout in _VECTORS


def to_memory(array: Any, layout: str) -> Any:
    """Return values in the order in which they lie in memory, padding zero."""
    if layout == LINEAR or not is_known(layout):
        return array
    axis = _channel_axis(array.ndim, layout)
    width = _LAST.get(layout) or _VECTORS[layout]
    shape = list(array.shape)
    shape[axis] = _filled(shape[axis], width)
    whole = np.zeros(shape, array.dtype)
    whole[_channels(axis, array.shape[axis])] = array
    if layout in _LAST:
        return np.ascontiguousarray(np.moveaxis(whole, axis, -1))
    cut = whole.reshape(*shape[:axis], shape[axis] // width, width, *shape[axis + 1 :])
    return np.ascontiguousarray(np.moveaxis(cut, axis + 1, -1))


def from_memory(values: Any, shape: tuple[int, ...], layout: str) -> Any:
    """Return values that lie in memory, flat, as an array of `shape`."""
    if layout == LINEAR:
        return values.reshape(shape)
    axis = _channel_axis(len(shape), layout)
    width = _LAST.get(layout) or _VECTORS[layout]
    count = _filled(shape[axis], width)
    rest = shape[axis + 1 :]
    if layout in _LAST:
        whole = np.moveaxis(values.reshape(*shape[:axis], *rest, count), -1, axis)
    else:
        cut = values.reshape(*shape[:axis], count // width, *rest, width)
        whole = np.moveaxis(cut, -1, axis + 1).reshape(*shape[:axis], count, *rest)
    return np.ascontiguousarray(whole[_channels(axis, shape[axis])])


def _channel_axis(rank: int, layout: str) -> int:
    return rank - (4 if "D" in layout else 3)


def _channels(axis: int, count: int) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, slice(count))


def _filled(count: int, width: int) -> int:
    return math.ceil(count / width) * width
