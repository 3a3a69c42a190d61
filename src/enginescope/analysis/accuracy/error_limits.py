"""How large an error may be: the one definition, for outputs and for tensors inside a model.

An error is judged for all elements together and for each channel, always against the reference's
own scale there, so that large values never hide small ones. `docs/explanation/outputs.md` has the
limits.

Whether a backend was told to leave TF32 alone.

The error that rounding alone is expected to cause: that of a rounded reference.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enginescope.analysis.errors.channel_errors import (
    ChannelAxes,
    ChannelErrors,
    flat_numbers,
    kind_of,
)
from enginescope.analysis.errors.error_moments import CHUNK, ErrorMoments, moments_of
from enginescope.analysis.errors.output_tolerance import Tolerance
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
        along = (noise for noise in self.channels if noise.axis == axis)
        return next((noise for noise in along if len(noise.rmse) == length), None)


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
        kinds = {kind_of(values.dtype) for values in (reference, rounded) if values}
        if rounded is None or rounded.shape != reference.shape or kinds != {"float"}:
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


def widest_noise(orders: Sequence[ExpectedNoise | None]) -> ExpectedNoise | None:
    """Return the largest of each error over honest ways to round; None unless all are known."""
    known = [noise for noise in orders if noise is not None]
    if not known or len(known) < len(orders):
        return None
    slopes = [noise.slope for noise in known if noise.slope is not None]

    def largest(values: Iterable[tuple[float | None, ...]]) -> tuple[float | None, ...]:
        channels = zip(*values, strict=True)
        return tuple(max((v for v in each if v is not None), default=None) for each in channels)

    return ExpectedNoise(
        rmse=max(noise.rmse for noise in known),
        peak=max(noise.peak for noise in known),
        slope=max(slopes, key=lambda slope: abs(slope - 1), default=None),
        channels=tuple(
            ChannelNoise(
                axis=first.axis,
                rmse=largest(noise.channels[number].rmse for noise in known),
                peak=largest(noise.channels[number].peak for noise in known),
            )
            for number, first in enumerate(known[0].channels)
        ),
    )


def _known(values: Any) -> tuple[float | None, ...]:
    return tuple(float(value) if np.isfinite(value) else None for value in values)


def by_name(outputs: Sequence[TensorValues] | None) -> dict[str, TensorValues]:
    """Return outputs by their names."""
    return {output.name: output for output in outputs or ()}


#: RMSE ÷ scale from which on no precision and no expected noise excuses an error: half is lost.
CEILING = 0.45
#: An error may be so many times the expected noise.
NOISE_FACTOR = 8.0
#: Share of a channel's squared error that one factor explains where it is the error; how far off
#: the channel may be then; and fewer elements than show a factor or a scale by themselves.
_COHERENT, _MOST_COHERENT, _FEW = 0.9, 0.35, 8
#: Errors of FP32's summation order, ÷ range: below it nothing is accused of being systematic.
NEGLIGIBLE = 5e-7
#: Range ÷ spread of values that no few elements carry, as of a normal distribution.
_RANGES = 4.0
#: How much more of few elements may be the error of one: errors of a deep network have long tails.
_TAIL = 3.0
#: The largest error allowed, ÷ the range.
_MOST_OF_RANGE = 0.9
#: Outputs of which one has a channel that is smaller by chance than its limits allow for.
_OUTPUTS = 100
#: Spread ÷ norm up to which a channel is constant.
_CONSTANT = 1e-6
#: Channels are of one population unless their norms have a gap of this factor, which m elements
#: leave by chance with a probability of gap⁻ᵐ.
_GAP, _UNLIKELY = 8.0, math.log(1e3)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of all elements of an output, or arrays of them by channel.

    Attributes:
        scale: What the RMSE is a part of.
        rmse, peak: Largest RMSE and largest |error| of an element.
        unexcused: The largest RMSE without regard to the row's resolution.
        hidden: All values are below the resolution of the row: no error can show there.
        noise: The honest RMSE that `rmse` is a multiple of; 0 where it is not known.
    """

    scale: Any
    rmse: Any
    peak: Any
    unexcused: Any
    hidden: Any
    noise: Any = 0.0


def _chance(count: Any, channels: int) -> Any:
    """Return how much larger than a root mean square of `count` elements the true one may be.

    All n elements of one of c channels are below exp(−ln(100·c) ÷ n) of it once in 100 outputs.
    """
    return np.exp(math.log(_OUTPUTS * max(channels, 1)) / count)


def whole_limits(
    moments: ErrorMoments,
    low: float | None,
    high: float | None,
    row: Tolerance,
    noise: ExpectedNoise | None = None,
) -> Limits:
    """Return the limits of all elements together.

    Args:
        low, high: Range of the reference.
    """
    scale = moments.scale or 0.0
    if 0 < moments.count < _FEW:  # their spread may be small by chance
        few = float(_chance(moments.count, 1))
        scale = max(scale, min(few * scale, moments.norm or 0.0))
    low, high = low or 0.0, high or 0.0
    reach = scale if moments.is_constant else max(high - moments.mean, moments.mean - low)
    rmse = (row.error_to_spread or 0.0) * scale
    peak = (row.peak_to_spread or 0.0) * max(scale, reach / _RANGES)
    honest = 0.0
    if noise is not None and row.resolution:
        honest = (1 + _TAIL / math.sqrt(max(moments.count, 1))) * noise.rmse
        rmse = min(NOISE_FACTOR * honest, CEILING * scale)
        peak = max(peak, NOISE_FACTOR * noise.peak)  # one element may be far off by chance
    size = max(high, -low)
    limits = _limits(row, scale, reach, rmse, peak, low >= 0 and high <= 1, size)
    limits = replace(limits, noise=honest)
    if limits.hidden:
        return limits
    # no resolution excuses the loss of a whole output
    most = max(float(rmse), min(float(limits.rmse), CEILING * scale))
    return replace(limits, rmse=most)


def channel_limits(
    errors: ChannelErrors, row: Tolerance, noise: ChannelNoise | None = None
) -> Limits:
    """Return the limits of each channel; those without a finite element have no limits (NaN)."""
    count = np.maximum(errors.count, 1)
    own, group = populations(errors)
    chance = _chance(count, int(np.count_nonzero(errors.count)))
    typical, farthest = _typical(own, count, group), _largest(errors.high, group)
    scale, reach = np.maximum(own, typical), np.maximum(errors.high, farthest)
    has_own = (own > 0) & (not errors.is_spatial)  # zeros and places take that of their population
    scale = np.where(has_own, np.minimum(chance * own, scale), scale)
    reach = np.where(has_own, np.minimum(chance * errors.high, reach), reach)
    few = 1 / np.sqrt(count)
    # a single element may be off by most of the scale; many elements by one factor may not
    coherent = np.square(errors.cross) > _COHERENT * errors.energy * errors.squares
    coherent &= count >= _FEW
    most = np.where(coherent, _MOST_COHERENT, CEILING)
    ceiling = most * (1 + 1 / count)
    one, honest = row.peak_to_spread or 0.0, np.zeros(count.size)
    limit = np.maximum(row.channel_error or 0.0, _TAIL * one * few)
    rmse = np.minimum(limit, ceiling) * scale
    peak = one * (1 + _TAIL * few) * np.maximum(scale, reach / _RANGES)
    if noise is not None and row.resolution:
        usual, usual_peak = (
            np.array([value or 0.0 for value in values]) for values in (noise.rmse, noise.peak)
        )
        if errors.is_spatial:
            usual_peak = _largest(usual_peak, group)
        # the noise of few elements is small by chance too: that of the population is added as one
        # element more, and it may be as far below it as that of the least of so many channels
        common = _typical(usual, count, group)
        honest = usual + common * (1.0 if errors.is_spatial else few)
        honest = np.minimum(chance * honest, np.maximum(honest, common))
        rmse = np.minimum(NOISE_FACTOR * honest, ceiling * scale)
        peak = np.maximum(peak, NOISE_FACTOR * (usual_peak + honest - usual))
    natural = (errors.low >= 0) & (errors.high <= 1)
    limits = _limits(row, scale, reach, rmse, peak, natural, errors.high)
    # no resolution excuses a factor, where values are large enough to show it
    shown = coherent & (errors.high > row.resolution)
    most_shown = np.where(shown, np.minimum(limits.rmse, ceiling * scale), limits.rmse)
    return replace(limits, rmse=most_shown, noise=honest)


def _limits(
    row: Tolerance, scale: Any, reach: Any, rmse: Any, peak: Any, natural: Any, size: Any
) -> Limits:
    """Return limits that are never below the row's resolution.

    Probabilities have a range of 1, whatever their values: sigmoid and softmax round at that range.
    Other values have their own range, and their resolution never excuses the loss of their scale.
    """
    least = np.where(natural, 1.0, size) * row.resolution
    excused = np.where(natural, least / 2, np.minimum(least / 2, CEILING * scale))
    return Limits(
        scale=scale,
        rmse=np.maximum(rmse, excused),
        peak=np.minimum(peak, _MOST_OF_RANGE * np.maximum(reach, scale)) + 2 * excused,
        unexcused=rmse,
        hidden=natural & (size <= least),
    )


def _own_scale(errors: ChannelErrors, count: Any) -> Any:
    """Return the size of each channel's values, as far as its own elements show it.

    Outputs of similar samples, such as frames of a film, vary little: a channel may then be near 0
    throughout by chance. Its variation, beside that of the other channels, shows its scale.
    """
    norm = np.sqrt(errors.energy / count)
    spread = np.sqrt(np.maximum(errors.energy / count - np.square(errors.total / count), 0.0))
    varied = spread > _CONSTANT * norm
    if not varied.any() or count.max() >= _FEW * errors.samples:  # a sample alone shows the scale
        return norm
    return np.maximum(norm, spread * np.median(norm[varied] / spread[varied]))


def populations(errors: ChannelErrors) -> tuple[Any, Any]:
    """Return each channel's own scale, and the number of the population that it belongs to.

    Channels of zeros are in the smallest.
    """
    count = np.maximum(errors.count, 1)
    scale = _own_scale(errors, count)
    group = np.zeros(scale.size, dtype=np.int64)
    if errors.is_spatial:
        return scale, group
    order = np.argsort(scale)
    order = order[scale[order] > 0]
    steps = np.diff(np.log(scale[order]))
    below = np.cumsum(count[order])
    number, before = 0, 0
    for at in np.flatnonzero(steps >= math.log(_GAP)):
        if (below[at] - before) * steps[at] >= _UNLIKELY:
            number, before = number + 1, below[at]
            group[order[at + 1 :]] = number
    return scale, group


def _typical(values: Any, count: Any, group: Any) -> Any:
    """Return, by channel, the root mean square over its population; zeros are left out."""
    elements = np.where(values > 0, count, 0)
    energy = np.bincount(group, np.square(values) * elements)
    return np.sqrt(energy / np.maximum(np.bincount(group, elements), 1))[group]


def _largest(values: Any, group: Any) -> Any:
    """Return, by channel, the largest value of its population."""
    largest = np.zeros(group.max(initial=0) + 1)
    np.maximum.at(largest, group, values)
    return largest[group]
