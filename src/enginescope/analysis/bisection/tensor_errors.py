"""How far a tensor inside a model is from the reference's: fewer figures than for an output."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np

from enginescope.analysis.accuracy.error_limits import NoiseSum
from enginescope.analysis.accuracy.output_verdict import Compared, reasons_of
from enginescope.analysis.errors.channel_errors import ChannelAxes, flat_numbers, kind_of
from enginescope.analysis.errors.element_comparison import compare_elements
from enginescope.analysis.errors.element_errors import ElementErrors
from enginescope.analysis.errors.output_tolerance import Tolerance
from enginescope.core.record import Record, replace
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType

#: The first limit that a tensor breaks; ``shape``: it has another one than the reference's.
InnerCode: TypeAlias = Literal[
    "not-finite", "shape", "underflow", "error", "peak", "channel-error", "channel-peak"
]

#: No layer computes such sizes: they stand for minus infinity in masks and paddings.
SENTINEL = 1e30
#: A sentinel in a narrower type: its largest number, or infinite.
_HALF_SENTINEL = 6e4
#: Least share of a tensor that breaks a limit of channels or elements alone.
_JUST_OVER = 1.01


class TensorError(Record, frozen=True, kw_only=True):
    """A tensor against the reference's, over all samples.

    Attributes:
        tensor: By the reference's name.
        error: RMSE ÷ spread of the reference; ``None`` where the reference is 0 throughout.
        peak: Largest |error| ÷ spread.
        max_abs_error, reference_peak: Largest |error|, and largest |reference|, of finite elements.
        nan, infinite, finite_only_here: Elements that are so on the candidate's side alone.
        over, why: Which limit it breaks, and by how much, in words.
        share: The error as a share of its limit; more than 1 is over it, infinite where elements
            are not finite on one side alone, or the shape differs.
    """

    tensor: str
    elements: int
    error: float | None
    peak: float | None
    max_abs_error: float | None
    reference_peak: float | None
    nan: int = 0
    infinite: int = 0
    finite_only_here: int = 0
    over: InnerCode | None = None
    why: str | None = None
    share: float = 0.0

    @property
    def odd(self) -> int:
        """Elements that are finite on one side alone."""
        return self.nan + self.infinite + self.finite_only_here

    @property
    def figure(self) -> float | None:
        """RMSE ÷ spread: infinite where elements are not finite, 0 without any error.

        ``None``: the reference is 0 throughout, and this tensor is not, or their shapes differ.
        """
        if self.odd:
            return math.inf
        is_equal = self.over != "shape" and self.max_abs_error in (None, 0)
        return 0.0 if self.error is None and is_equal else self.error


@dataclass(slots=True)
class TensorErrors:
    """Adds up one tensor's errors, sample by sample."""

    tensor: str
    tolerance: Tolerance
    errors: ElementErrors = field(default_factory=ElementErrors)
    channels: ChannelAxes = field(default_factory=ChannelAxes)
    noise: NoiseSum = field(default_factory=NoiseSum)
    reference_peak: float | None = None
    differs: bool = False
    _samples: int = 0

    def add(
        self, reference: TensorValues, candidate: TensorValues, rounded: TensorValues | None = None
    ) -> None:
        """Add a sample's values; tensors of integers, truth values and texts are left out.

        Args:
            rounded: The rounded reference's; its distance from the reference is the expected error.
        """
        if kind_of(reference.dtype) != "float" or kind_of(candidate.dtype) != "float":
            return
        if reference.shape != candidate.shape:
            self.differs = True
            return
        reference, candidate = _without_sentinels(reference, candidate)
        row = replace(self.tolerance, atol_to_spread=0.0)  # mismatches: not judged
        self.errors = self.errors + compare_elements(reference, candidate, row, self._samples)
        self.channels.add(reference, candidate, self._samples)
        self.noise.add(reference, rounded)
        self._samples += 1
        finite = np.abs(flat_numbers(reference).astype(np.float64))
        finite = finite[np.isfinite(finite)]
        if finite.size:
            self.reference_peak = max(self.reference_peak or 0.0, float(finite.max()))

    @property
    def is_compared(self) -> bool:
        """Whether there was anything to compare."""
        return self.errors.elements > 0 or self.differs

    def result(self) -> TensorError:
        """Return what was added so far."""
        found, moments = self.errors, self.errors.moments
        largest, scale = found.largest, moments.scale
        error = moments.error_to_spread
        over, why = self._over()
        return TensorError(
            tensor=self.tensor,
            elements=found.elements,
            error=error if error is not None and math.isfinite(error) else None,
            peak=largest.value / scale if largest and scale else None,
            max_abs_error=largest.value if largest else None,
            reference_peak=self.reference_peak,
            nan=found.new_nan,
            infinite=found.new_infinite,
            finite_only_here=found.lost_nonfinite,
            over=over,
            why=why,
            share=self._share(error, over),
        )

    def _over(self) -> tuple[InnerCode | None, str | None]:
        """Return the first limit that the tensor breaks: the same limits as for an output."""
        if self.differs:
            return "shape", None
        if self.errors.low == self.errors.high == 0 and not self.errors.disagreeing_nonfinite:
            return None, None  # zeros have no scale: what reads them is judged
        compared = Compared(self.errors, self.channels.axes, self.noise.result())
        for reason in reasons_of(compared, self.tolerance, "float"):
            if reason.code in get_args(InnerCode):
                return reason.code, reason.message  # type: ignore[return-value]
        return None, None

    def _share(self, error: float | None, over: InnerCode | None) -> float:
        if over in ("shape", "not-finite"):
            return math.inf
        limit = self.tolerance.error_to_spread or 0.0
        share = (error or 0.0) / limit if limit else math.inf if error else 0.0
        return max(share, _JUST_OVER) if over else min(share, 1.0)


def _without_sentinels(
    reference: TensorValues, candidate: TensorValues
) -> tuple[TensorValues, TensorValues]:
    """Return both sides with the mean in place of what stands for infinity on both.

    A padding of -3.4e38 would otherwise be the scale of everything beside it.
    """
    a, b = np.asarray(flat_numbers(reference)), np.asarray(flat_numbers(candidate))
    masked = (np.abs(a) >= SENTINEL) & (np.abs(b) >= _HALF_SENTINEL) & (np.sign(a) == np.sign(b))
    if not masked.any():
        return reference, candidate
    left = a[~masked & np.isfinite(a)]
    mean = float(left.astype(np.float64).mean()) if left.size else 0.0
    filled = [np.where(masked, mean, one).astype(np.float64) for one in (a, b)]
    return tuple(
        TensorValues(
            name=one.name, dtype=DataType.FP64, shape=one.shape, data=data.reshape(one.shape)
        )
        for one, data in zip((reference, candidate), filled, strict=True)
    )  # type: ignore[return-value]


#: The largest finite number of a type that has fewer exponents than FP32.
LARGEST = {DataType.FP16: 65_504.0, DataType.FP8: 448.0}
