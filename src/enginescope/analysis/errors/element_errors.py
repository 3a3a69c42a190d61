"""What one output's elements come to against its reference, and such findings added up."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np

from enginescope.analysis.errors.error_histogram import HISTOGRAM_BINS
from enginescope.analysis.errors.error_moments import ErrorMoments
from enginescope.analysis.errors.ulp_distance import ULP_BINS


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is: the sample, from 0, and the element's index in its tensor."""

    sample: int
    flat: int
    shape: tuple[int, ...]

    @property
    def index(self) -> tuple[int, ...]:
        """The element's index, axis by axis."""
        inside = self.flat < int(np.prod(self.shape))
        if not self.shape or not inside:
            return ()
        return tuple(int(one) for one in np.unravel_index(self.flat, self.shape))


@dataclass(frozen=True, slots=True)
class Peak:
    """The largest of something, and where it is."""

    value: float
    place: Place


def _no_counts(bins: int) -> Any:
    return np.zeros(bins, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class ElementErrors:
    """What one output's elements come to.

    Attributes:
        unequal: Elements whose values differ at all.
        moments: Of the pairs that are finite on both sides.
        largest, largest_relative: Of |error|, and of |error| ÷ |reference| where the reference is
            not 0.
        low, high: The reference's range.
        from_zero: Elements whose reference is 0 and whose candidate is not.
        relative_count, relative_sum, relative_squares: Signed relative errors of elements that are
            not far below the largest: how many, their sum and that of their squares.
        mismatched: Elements beyond ``atol + rtol·|reference|``, and those finite on one side alone.
        control_mismatched: As many of the reference itself, each element held against another: what
            noise would get. Counted for a tolerance that a user gave; the shipped ones are tried by
            the tests.
        beyond_pct: Elements whose relative error is beyond the tolerance's percentage.
        new_nan, new_infinite: Elements that are NaN, or infinite, in the candidate alone.
        lost_nonfinite, shared_nonfinite: Elements that are not finite in the reference alone, and
            alike in both.
        first_nonfinite: The first element that is finite on one side alone, or infinite with the
            other sign.
        errors, ulps: Counts by size of the error, and by distance in units in the last place.
    """

    elements: int = 0
    unequal: int = 0
    moments: ErrorMoments = field(default_factory=ErrorMoments)
    largest: Peak | None = None
    largest_relative: Peak | None = None
    low: float | None = None
    high: float | None = None
    from_zero: int = 0
    relative_count: int = 0
    relative_sum: float = 0.0
    relative_squares: float = 0.0
    mismatched: int = 0
    control_mismatched: int = 0
    beyond_pct: int = 0
    new_nan: int = 0
    new_infinite: int = 0
    lost_nonfinite: int = 0
    shared_nonfinite: int = 0
    first_nonfinite: Place | None = None
    zero_errors: int = 0
    errors: Any = field(default_factory=partial(_no_counts, HISTOGRAM_BINS))
    ulps: Any = field(default_factory=partial(_no_counts, ULP_BINS))

    def __add__(self, other: ElementErrors) -> ElementErrors:
        """Return both as one; of equal peaks and places the first stays."""
        merged = {
            one.name: _merged(one.name, getattr(self, one.name), getattr(other, one.name))
            for one in fields(self)
        }
        return ElementErrors(**merged)

    @property
    def leverage(self) -> float:
        """Share that one element may have of the reference's spread: it then carries the slope."""
        moments = self.moments
        if self.low is None or self.high is None or moments.is_constant or not moments.spread:
            return 0.0
        mean = moments.mean_reference * moments.unit
        farthest = max(self.high - mean, mean - self.low) / moments.spread
        return farthest**2 / moments.count

    @property
    def mean_relative(self) -> float | None:
        """Mean of the signed relative errors."""
        return self.relative_sum / self.relative_count if self.relative_count else None

    @property
    def relative_scatter(self) -> float | None:
        """Share of the relative errors' squares that their mean does not explain."""
        if not self.relative_count or not self.relative_squares:
            return None
        mean = self.relative_sum / self.relative_count
        return max(0.0, 1.0 - mean**2 * self.relative_count / self.relative_squares)

    @property
    def disagreeing_nonfinite(self) -> int:
        """Elements finite on one side alone, or infinite with the other sign."""
        return self.new_nan + self.new_infinite + self.lost_nonfinite


def _merged(name: str, a: Any, b: Any) -> Any:
    if a is None or b is None:
        return a if b is None else b
    if isinstance(a, Peak):
        return a if a.value >= b.value else b
    if isinstance(a, Place):
        return a
    if name in ("low", "high"):
        return min(a, b) if name == "low" else max(a, b)
    return a + b
