"""The error that rounding alone is expected to cause: that of a rounded reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.analysis.errors.channel_errors import ChannelAxes, flat_numbers, kind_of
from enginescope.analysis.errors.error_moments import CHUNK, ErrorMoments, moments_of
from enginescope.core.record import Record
from enginescope.records.run.run import TensorValues


class ChannelNoise(Record, frozen=True, kw_only=True):
    """Expected errors along one axis; ``None`` for a channel without a finite element."""

    axis: int
    rmse: tuple[float | None, ...]
    peak: tuple[float | None, ...]


class ExpectedNoise(Record, frozen=True, kw_only=True):
    """Expected errors of one output: RMSE and largest error, of all elements and by channel.

    `slope` is the least-squares factor of the rounded reference; ``None``: the reference is
    constant.
    """

    rmse: float
    peak: float
    slope: float | None = None
    channels: tuple[ChannelNoise, ...] = ()

    def along(self, axis: int, length: int) -> ChannelNoise | None:
        """Return the expected errors along an axis that has so many channels."""
        return next(
            (noise for noise in self.channels if (noise.axis, len(noise.rmse)) == (axis, length)),
            None,
        )


class NoiseSum:
    """Adds up one output's rounded reference against the reference, sample by sample.

    A sample without a comparable rounded output, or with one that is not finite where the reference
    is, ends it: there is no expected noise then, rather than a noise of 0.
    """

    def __init__(self) -> None:
        self._moments = ErrorMoments()
        self._channels = ChannelAxes()
        self._peak = 0.0
        self._is_known = True

    def add(self, reference: TensorValues, rounded: TensorValues | None) -> None:
        """Add one sample."""
        if rounded is None or rounded.shape != reference.shape:
            self._is_known = False
            return
        if (kind_of(reference.dtype), kind_of(rounded.dtype)) != ("float", "float"):
            self._is_known = False
            return
        a, b = flat_numbers(reference), flat_numbers(rounded)
        for begin in range(0, a.size, CHUNK):
            part = slice(begin, begin + CHUNK)
            self._add(a[part].astype(np.float64), b[part].astype(np.float64))
        if self._is_known:
            self._channels.add(reference, rounded)

    def _add(self, a: Any, b: Any) -> None:
        known = np.isfinite(a)
        if not np.isfinite(b[known]).all():
            self._is_known = False
            return
        a, b = a[known], b[known]
        self._moments = self._moments + moments_of(a, b)
        self._peak = max(self._peak, float(np.abs(b - a).max(initial=0.0)))

    def result(self) -> ExpectedNoise | None:
        """Return what was added; ``None`` where the expected noise is not known."""
        rmse = self._moments.rmse
        if not self._is_known or rmse is None:
            return None
        return ExpectedNoise(
            rmse=rmse,
            peak=self._peak,
            slope=self._moments.slope,
            channels=tuple(
                ChannelNoise(
                    axis=errors.axis,
                    rmse=_known(errors.rmse),
                    peak=_known(np.where(errors.count > 0, errors.largest, np.nan)),
                )
                for errors in self._channels.axes
            ),
        )


def _known(values: Any) -> tuple[float | None, ...]:
    return tuple(float(value) if np.isfinite(value) else None for value in values)


def by_name(outputs: Sequence[TensorValues] | None) -> dict[str, TensorValues]:
    """Return outputs by their names."""
    return {output.name: output for output in outputs or ()}
