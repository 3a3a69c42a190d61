"""How far a tensor inside a model is from the reference's: fewer figures than for an output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from enginescope.analysis.answer_numbers import flat_numbers, kind_of
from enginescope.analysis.bisection import Level
from enginescope.analysis.error_moments import CHUNK, ErrorMoments, moments_of
from enginescope.analysis.output_tolerance import Tolerance
from enginescope.core.record import Record
from enginescope.model.tensor import DataType
from enginescope.model.tensor_values import TensorValues

#: The first limit that a tensor breaks; ``shape``: it has another one than the reference's.
InnerCode: TypeAlias = Literal["not-finite", "shape", "error", "peak"]

#: Of its limit: an error that is at least so large is handed on, not made anew.
_CARRIED = 0.1


class TensorError(Record, frozen=True, kw_only=True):
    """A tensor against the reference's, over all samples.

    Attributes
    ----------
    tensor : str
        By the reference's name.
    elements : int
    error : float or None
        RMSE ÷ spread of the reference; ``None`` where the reference is 0 throughout.
    peak : float or None
        Largest error beyond what is allowed in proportion to its element, ÷ spread.
    max_abs_error, reference_peak : float or None
        Largest |error|, and largest |reference|, of finite elements.
    nan, infinite, finite_only_here : int
        Elements that are so on the candidate's side alone.
    over : str or None
        Which limit it breaks.
    level : Level
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
    level: Level = Level.FINE

    @property
    def odd(self) -> int:
        """Elements that are finite on one side alone."""
        return self.nan + self.infinite + self.finite_only_here


@dataclass(slots=True)
class TensorErrors:
    """Adds up one tensor's errors, sample by sample."""

    tensor: str
    tolerance: Tolerance
    moments: ErrorMoments = field(default_factory=ErrorMoments)
    elements: int = 0
    largest: float | None = None
    beyond: float | None = None
    reference_peak: float | None = None
    nan: int = 0
    infinite: int = 0
    lost: int = 0
    differs: bool = False

    def add(self, reference: TensorValues, candidate: TensorValues) -> None:
        """Add a sample's values; those that are no floating numbers are left out."""
        if kind_of(reference.dtype) != "float" or kind_of(candidate.dtype) != "float":
            return
        if reference.shape != candidate.shape:
            self.differs = True
            return
        a, b = flat_numbers(reference), flat_numbers(candidate)
        self.elements += int(a.size)
        for begin in range(0, a.size, CHUNK):
            part = slice(begin, begin + CHUNK)
            self._add(a[part].astype(np.float64), b[part].astype(np.float64))

    def _add(self, a: Any, b: Any) -> None:
        odd_a, odd_b = ~np.isfinite(a), ~np.isfinite(b)
        either = odd_a | odd_b
        if either.any():
            apart = either & ~((a == b) | (np.isnan(a) & np.isnan(b)))
            self.nan += int(np.count_nonzero(apart & np.isnan(b)))
            self.infinite += int(np.count_nonzero(apart & np.isinf(b)))
            self.lost += int(np.count_nonzero(apart & ~odd_b))
            known = np.abs(a[~odd_a])
            self.reference_peak = _larger(self.reference_peak, known)
            a, b = a[~either], b[~either]
        if not a.size:
            return
        size, error = np.abs(a), np.abs(b - a)
        self.moments = self.moments + moments_of(a, b)
        self.largest = _larger(self.largest, error)
        self.beyond = _larger(self.beyond, error - self.tolerance.rtol * size)
        self.reference_peak = _larger(self.reference_peak, size)

    @property
    def is_compared(self) -> bool:
        """Whether there was anything to compare."""
        return self.elements > 0 or self.differs

    def result(self) -> TensorError:
        """Return what was added so far."""
        scale = self.moments.scale
        peak = max(self.beyond or 0.0, 0.0) / scale if scale else None
        error = self.moments.error_to_spread
        over = self._over(error, peak)
        return TensorError(
            tensor=self.tensor,
            elements=self.elements,
            error=error if error is not None and np.isfinite(error) else None,
            peak=peak,
            max_abs_error=self.largest,
            reference_peak=self.reference_peak,
            nan=self.nan,
            infinite=self.infinite,
            finite_only_here=self.lost,
            over=over,
            level=Level.OVER if over else self._level(error),
        )

    def _over(self, error: float | None, peak: float | None) -> InnerCode | None:
        if self.differs:
            return "shape"
        if self.nan or self.infinite or self.lost:
            return "not-finite"
        limit, peak_limit = self.tolerance.error_to_spread, self.tolerance.peak_to_spread
        if limit is not None and (error or 0.0) > limit:
            return "error"
        if peak_limit is not None and (peak or 0.0) > peak_limit:
            return "peak"
        return None

    def _level(self, error: float | None) -> Level:
        carries = _CARRIED * (self.tolerance.error_to_spread or 0.0)
        return Level.CARRIES if (error or 0.0) > carries else Level.FINE


def _larger(known: float | None, values: Any) -> float | None:
    if not values.size:
        return known
    found = float(values.max())
    return found if known is None else max(known, found)


#: The largest finite number of a type that has fewer exponents than FP32.
LARGEST = {DataType.FP16: 65_504.0, DataType.FP8: 448.0}
