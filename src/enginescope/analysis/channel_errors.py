"""Errors of an output by channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.analysis.answer_numbers import flat_numbers, kind_of
from enginescope.analysis.error_moments import CHUNK
from enginescope.model.tensor_values import TensorValues

#: An axis longer than this is no axis of channels: sequences, flattened maps.
MOST_CHANNELS = 4096
#: Length of the last axis at which a tensor of four axes is taken for height × width × channels.
_COLOURS = (1, 3, 4)


class ChannelErrors:
    """Sums by channel, sample by sample; stops when samples disagree on the channels.

    Attributes
    ----------
    axis : int or None
        ``None``: the output has no axis of channels.
    """

    def __init__(self) -> None:
        self.axis: int | None = None
        self._squares: Any = None
        self._energy: Any = None
        self._largest: Any = None
        self._count = 0
        self._is_off = False

    def add(self, reference: TensorValues, candidate: TensorValues) -> None:
        """Add one sample's output, of the same shape on both sides."""
        axis = channel_axis(reference.shape)
        if self._is_off or axis is None or kind_of(reference.dtype) not in ("float", "int"):
            self._is_off = True
            return
        length = reference.shape[axis]
        if self._squares is None:
            self.axis = axis
            self._squares, self._energy, self._largest = np.zeros((3, length))
        elif axis != self.axis or length != self._squares.size:
            self._is_off = True
            return
        a, b = (
            np.moveaxis(flat_numbers(one).reshape(one.shape), axis, 0).reshape(length, -1)
            for one in (reference, candidate)
        )
        self._count += a.shape[1]
        step = max(1, CHUNK // max(a.shape[1], 1))
        for begin in range(0, length, step):
            self._add_block(slice(begin, begin + step), a[begin : begin + step], b)

    def _add_block(self, channels: slice, reference: Any, candidate: Any) -> None:
        one = reference.astype(np.float64)
        with np.errstate(invalid="ignore"):
            error = candidate[channels].astype(np.float64) - one
        known = np.isfinite(error)
        if not known.all():
            error, one = np.where(known, error, 0.0), np.where(known, one, 0.0)
        self._squares[channels] += np.square(error).sum(axis=1)
        self._energy[channels] += np.square(one).sum(axis=1)
        np.abs(error, out=error)
        largest = error.max(axis=1, initial=0.0)
        self._largest[channels] = np.maximum(self._largest[channels], largest)

    def rmse(self) -> tuple[float, ...]:
        """Return the root of the mean squared error of each channel; empty if there are none."""
        return self._roots(self._squares)

    def norms(self) -> tuple[float, ...]:
        """Return the root mean square of the reference in each channel."""
        return self._roots(self._energy)

    def largest(self) -> tuple[float, ...]:
        """Return the largest |error| of each channel."""
        if self._is_off or self._largest is None:
            return ()
        return tuple(float(one) for one in self._largest)

    def _roots(self, sums: Any) -> tuple[float, ...]:
        if self._is_off or sums is None or not self._count:
            return ()
        return tuple(float(one) for one in np.sqrt(sums / self._count))


def channel_axis(shape: tuple[int, ...]) -> int | None:
    """Return the axis of channels: the second, or the last where it is one of colours."""
    if len(shape) < 2 or 0 in shape:
        return None
    axis = 1
    if len(shape) == 4 and shape[3] in _COLOURS and shape[1] > _COLOURS[-1]:
        axis = 3
    return axis if 2 <= shape[axis] <= MOST_CHANNELS else None
