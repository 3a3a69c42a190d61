"""Element by element: one output of a sample against its reference, and such findings added up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np

from enginescope.analysis.answer_numbers import flat_numbers, kind_of
from enginescope.analysis.error_moments import CHUNK, ErrorMoments, moments_of
from enginescope.analysis.output_tolerance import Tolerance
from enginescope.analysis.ulp_distance import ULP_BINS, has_ulps, ulp_counts, ulp_distances
from enginescope.model.tensor import DataType
from enginescope.model.tensor_values import TensorValues

#: Upper ends of the histogram's bins, quarter decades of |error|; errors of 0 are counted apart.
HISTOGRAM_DECADES = (-12, 6)
HISTOGRAM_BINS_PER_DECADE = 4
_EDGES = 10.0 ** (
    np.arange(
        HISTOGRAM_DECADES[0] * HISTOGRAM_BINS_PER_DECADE,
        HISTOGRAM_DECADES[1] * HISTOGRAM_BINS_PER_DECADE + 1,
    )
    / HISTOGRAM_BINS_PER_DECADE
)
HISTOGRAM_EDGES = tuple(float(one) for one in _EDGES)
HISTOGRAM_BINS = len(HISTOGRAM_EDGES) + 1


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

    Attributes
    ----------
    elements : int
    unequal : int
        Elements whose values differ at all.
    moments : ErrorMoments
        Of the pairs that are finite on both sides.
    largest, largest_relative : Peak or None
        Of |error|, and of |error| ÷ |reference| where the reference is not 0.
    low, high : float or None
        The reference's range.
    from_zero : int
        Elements whose reference is 0 and whose candidate is not.
    mismatched : int
        Elements beyond ``atol + rtol·|reference|``, and those finite on one side alone.
    control_mismatched : int
        As many of the reference itself, each element held against another: what noise would get.
    beyond_pct : int
        Elements whose relative error is beyond the tolerance's percentage.
    new_nan, new_infinite : int
        Elements that are NaN, or infinite, in the candidate alone.
    lost_nonfinite, shared_nonfinite : int
        Elements that are not finite in the reference alone, and alike in both.
    first_nonfinite : Place or None
        The first element that is finite on one side alone, or infinite with the other sign.
    errors, ulps : numpy.ndarray
        Counts by size of the error, and by distance in units in the last place.
    zero_errors : int
    """

    elements: int = 0
    unequal: int = 0
    moments: ErrorMoments = field(default_factory=ErrorMoments)
    largest: Peak | None = None
    largest_relative: Peak | None = None
    low: float | None = None
    high: float | None = None
    from_zero: int = 0
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


def compare_elements(
    reference: TensorValues, candidate: TensorValues, tolerance: Tolerance, sample: int = 0
) -> ElementErrors:
    """Return what the elements of two tensors of one shape come to.

    Values that are neither numbers nor truth values are only held to be equal or not.
    """
    a, b = flat_numbers(reference), flat_numbers(candidate)
    shape = reference.shape
    if "string" in (kind_of(reference.dtype), kind_of(candidate.dtype)):
        unequal = int(np.count_nonzero(a.astype(str) != b.astype(str)))
        return ElementErrors(elements=int(a.size), unequal=unequal, mismatched=unequal)
    scale = _scale(a) if tolerance.atol_to_spread else 0.0
    atol = tolerance.atol + tolerance.atol_to_spread * scale
    ulps_of = _common_float(reference.dtype, candidate.dtype)
    total = ElementErrors()
    half = a.size // 2
    control = np.roll(a, half) if half else a
    for begin, part in _chunks(a.size):
        piece = _Piece(a[part], b[part], Place(sample, begin, shape))
        found = piece.errors(tolerance, atol, control[part])
        total = total + (piece.with_ulps(found, ulps_of) if ulps_of else found)
    return total


def _chunks(size: int) -> Iterator[tuple[int, slice]]:
    for begin in range(0, size, CHUNK):
        yield begin, slice(begin, begin + CHUNK)


def _scale(values: Any) -> float:
    """Return what the reference's errors are held against, in this sample alone."""
    total = ErrorMoments()
    for _, part in _chunks(values.size):
        wide = values[part].astype(np.float64)
        wide = wide[np.isfinite(wide)]
        total = total + moments_of(wide, wide)
    return total.scale or 0.0


def _common_float(a: DataType, b: DataType) -> DataType | None:
    return a if a is b and has_ulps(a) else None


class _Piece:
    """A chunk of both sides."""

    def __init__(self, a: Any, b: Any, start: Place) -> None:
        self._a, self._b, self._start = a, b, start
        self._wide_a, self._wide_b = a.astype(np.float64), b.astype(np.float64)
        self._finite = np.isfinite(self._wide_a) & np.isfinite(self._wide_b)
        both_nan = np.isnan(self._wide_a) & np.isnan(self._wide_b)
        self._same = (a == b) | both_nan
        self._at = np.flatnonzero(self._finite)
        if self._at.size == a.size:  # as a rule: nothing need be picked out
            self._r, self._c = self._wide_a, self._wide_b
        else:
            self._r, self._c = self._wide_a[self._finite], self._wide_b[self._finite]

    def errors(self, tolerance: Tolerance, atol: float, control: Any) -> ElementErrors:
        """Return what the chunk comes to, but for its distances in places."""
        r, size = self._r, np.abs(self._r)
        with np.errstate(over="ignore"):
            error = np.abs(self._c - r)
            allowed = atol + tolerance.rtol * size
            apart = np.abs(control[self._finite].astype(np.float64) - r)
            beyond = error > tolerance.percent / 100 * size
        zero = size == 0
        counts = self._nonfinite()
        odd = counts["new_nan"] + counts["new_infinite"] + counts["lost_nonfinite"]
        return ElementErrors(
            elements=int(self._a.size),
            unequal=int(self._a.size - np.count_nonzero(self._same)),
            moments=moments_of(r, self._c),
            largest=self._peak(error),
            largest_relative=self._peak(error[~zero] / size[~zero], ~zero),
            low=float(r.min()) if r.size else None,
            high=float(r.max()) if r.size else None,
            from_zero=int(np.count_nonzero(zero & (error > 0))),
            mismatched=int(np.count_nonzero(error > allowed)) + odd,
            control_mismatched=int(np.count_nonzero(apart > allowed)),
            beyond_pct=int(np.count_nonzero(beyond)) + odd,
            zero_errors=int(np.count_nonzero(error == 0)),
            errors=np.bincount(
                np.searchsorted(_EDGES, error[error > 0]), minlength=HISTOGRAM_BINS
            ).astype(np.int64),
            **counts,
        )

    def with_ulps(self, found: ElementErrors, dtype: DataType) -> ElementErrors:
        """Return `found` with the distances of the pairs that are finite."""
        a, b = self._a[self._at], self._b[self._at]
        if dtype is DataType.BF16:  # decoded to FP32, whose upper half it is
            a, b = ((one.view(np.uint32) >> 16).astype(np.uint16) for one in (a, b))
        counts = ulp_counts(ulp_distances(a, b, dtype)).astype(np.int64)
        values = {one.name: getattr(found, one.name) for one in fields(found)}
        return ElementErrors(**{**values, "ulps": counts})

    def _peak(self, values: Any, among: Any = None) -> Peak | None:
        if not values.size:
            return None
        at = int(values.argmax())
        at = int(np.flatnonzero(among)[at]) if among is not None else at
        largest = float(values.max())
        return Peak(largest, self._place(int(self._at[at])))

    def _place(self, at: int) -> Place:
        return Place(self._start.sample, self._start.flat + at, self._start.shape)

    def _nonfinite(self) -> dict[str, Any]:
        """Return counts of what is not finite, and where the first disagreement is."""
        if self._at.size == self._a.size:
            return {"new_nan": 0, "new_infinite": 0, "lost_nonfinite": 0}
        odd = ~self._finite & ~self._same
        new_nan = odd & np.isnan(self._wide_b)
        new_infinite = odd & np.isinf(self._wide_b)
        first = np.flatnonzero(odd)
        return {
            "new_nan": int(np.count_nonzero(new_nan)),
            "new_infinite": int(np.count_nonzero(new_infinite)),
            "lost_nonfinite": int(np.count_nonzero(odd & ~new_nan & ~new_infinite)),
            "shared_nonfinite": int(np.count_nonzero(~self._finite & self._same)),
            "first_nonfinite": self._place(int(first[0])) if first.size else None,
        }
