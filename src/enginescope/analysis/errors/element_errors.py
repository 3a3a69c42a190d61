"""Compare two tensors element by element, chunk by chunk, and add up what was found.

Distances in units in the last place, and how they are spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from enginescope.analysis.errors.channel_errors import flat_numbers, kind_of
from enginescope.analysis.errors.error_moments import (
    CHUNK,
    HISTOGRAM_BINS,
    ErrorMoments,
    error_counts,
    moments_of,
    moments_of_one,
)
from enginescope.analysis.errors.output_tolerance import Tolerance
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType

#: Upper ends of the bins, 0 and powers of two; the last is open. Bin 0 holds what is equal.
ULP_EDGES: tuple[int, ...] = (0, 1, 2, 4, 8, 16, 64, 256, 1024, 4096, 65_536, 1 << 20, 1 << 24)
ULP_BINS = len(ULP_EDGES) + 1

_BITS: dict[DataType, Any] = {
    DataType.FP16: np.int16,
    DataType.BF16: np.int16,
    DataType.FP32: np.int32,
    DataType.FP64: np.int64,
}
# Bin of a distance above 0 by the bits of (distance − 1): every edge but 0 is a power of two.
_MOST_BITS = 65  # a distance near 2⁶⁴ rounds up to it
_BIN = np.searchsorted(ULP_EDGES, [2.0**bits for bits in range(_MOST_BITS + 1)])


def has_ulps(dtype: DataType) -> bool:
    """Whether the type has places whose last can be counted here."""
    return dtype in _BITS


def ulp_distances(reference: Any, candidate: Any, dtype: DataType) -> Any:
    """Return how many numbers of the type lie between each pair, as unsigned 64 bits.

    Args:
        reference, candidate: Of the type itself (BF16 as its bits), without NaN.
    """
    if dtype is DataType.FP64:
        a, b = _ordered_wide(reference), _ordered_wide(candidate)
        return np.where(a > b, a - b, b - a)
    a, b = _ordered(reference, dtype), _ordered(candidate, dtype)
    return np.abs(np.subtract(a, b, dtype=np.int64)).view(np.uint64)


def _ordered(values: Any, dtype: DataType) -> Any:
    """Return signed integers in the order of the numbers, one apart for neighbors."""
    bits = _BITS[dtype]
    signed = np.ascontiguousarray(values).view(bits)
    # the magnitude's bits; of a negative number, all of them turned over and one added
    sign = signed >> (np.dtype(bits).itemsize * 8 - 1)
    return ((signed & np.iinfo(bits).max) ^ sign) - sign


def _ordered_wide(values: Any) -> Any:
    """Return the same of FP64, unsigned: the distances of signed ones would not fit."""
    signed = np.ascontiguousarray(values).view(np.int64)
    middle = np.uint64(1 << 63)
    magnitude = (signed & np.iinfo(np.int64).max).astype(np.uint64)
    return np.where(signed < 0, middle - magnitude, middle + magnitude)


def ulp_counts(distances: Any) -> Any:
    """Return how many distances fall into each bin."""
    # A float64's exponent is the number of bits. Those of more than 53 round: all in the last bin.
    wide = distances.astype(np.float64) - 1.0
    exponents = (wide.view(np.int64) >> 52) & 0x7FF
    bits = np.maximum(exponents, 1022) - 1022  # 0 for a distance of 1
    equal = np.count_nonzero(distances == 0)
    by_bits = np.bincount(bits, minlength=_MOST_BITS + 1)
    by_bits[1] -= equal  # −1 has the exponent of 1
    counts = np.bincount(_BIN, weights=by_bits, minlength=ULP_BINS).astype(np.int64)
    counts[0] = equal
    return counts


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is: the sample, from 0, and the element's index in its tensor."""

    sample: int
    flat: int
    shape: tuple[int, ...]

    @property
    def index(self) -> tuple[int, ...]:
        """The element's index, axis by axis."""
        if not self.shape or self.flat >= int(np.prod(self.shape)):
            return ()
        return tuple(map(int, np.unravel_index(self.flat, self.shape)))


@dataclass(frozen=True, slots=True)
class Peak:
    """The largest of something, and where it is."""

    value: float
    place: Place


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
        control_mismatched: As many of the reference itself, each element against another: what
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
    errors: Any = field(default_factory=lambda: np.zeros(HISTOGRAM_BINS, dtype=np.int64))
    ulps: Any = field(default_factory=lambda: np.zeros(ULP_BINS, dtype=np.int64))

    def __add__(self, other: ElementErrors) -> ElementErrors:
        """Return both as one; of equal peaks and places the first stays."""
        names = [field.name for field in fields(self)]
        pairs = ((name, getattr(self, name), getattr(other, name)) for name in names)
        return ElementErrors(**{pair[0]: _merged(*pair) for pair in pairs})

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
        mean = self.mean_relative
        if mean is None or not self.relative_squares:
            return None
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
    is_common = reference.dtype is candidate.dtype and has_ulps(reference.dtype)
    ulps_of = reference.dtype if is_common else None
    total = ElementErrors()
    control = np.roll(a, a.size // 2) if tolerance.is_given else None
    for begin, part in _chunks(a.size):
        piece = _Piece(a[part], b[part], Place(sample, begin, shape))
        found = piece.errors(tolerance, atol, ulps_of)
        if control is not None:
            odd = piece.mismatched_control(control[part], tolerance, atol)
            found = replace(found, control_mismatched=odd)
        total = total + found
    return total


def _chunks(size: int) -> Iterator[tuple[int, slice]]:
    for begin in range(0, size, CHUNK):
        yield begin, slice(begin, begin + CHUNK)


def _scale(values: Any) -> float:
    """Return what the reference's errors are compared with, in this sample alone."""
    total = ErrorMoments()
    for _, part in _chunks(values.size):
        wide = values[part].astype(np.float64)
        wide = wide[np.isfinite(wide)]
        total = total + moments_of_one(wide)
    return total.scale or 0.0


class _Piece:
    def __init__(self, a: Any, b: Any, start: Place) -> None:
        self._a, self._b, self._start = a, b, start
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(wide_a) & np.isfinite(wide_b)
        self._same = a == b
        self._all_finite = bool(finite.all())
        if self._all_finite:  # as a rule: nothing need be picked out
            self._known: Any = slice(None)
            self._r, self._c = wide_a, wide_b
            return
        self._same |= np.isnan(wide_a) & np.isnan(wide_b)
        self._known = np.flatnonzero(finite)
        self._r, self._c = wide_a[finite], wide_b[finite]
        self._odd_b = np.where(finite | self._same, 0.0, wide_b)
        self._shared = int(np.count_nonzero(~finite & self._same))
        self._odd = ~finite & ~self._same

    def errors(
        self, tolerance: Tolerance, atol: float, ulps_of: DataType | None = None
    ) -> ElementErrors:
        """Return what the chunk comes to.

        Args:
            ulps_of: The type whose places count, where both sides have the same.
        """
        r, size = self._r, np.abs(self._r)
        with np.errstate(over="ignore"):
            error = np.abs(self._c - r)
            beyond = error > tolerance.percent / 100 * size
            mismatched = error > atol + tolerance.rtol * size
        counts = self._nonfinite()
        odd = counts["new_nan"] + counts["new_infinite"] + counts["lost_nonfinite"]
        ulps = {"ulps": self._ulps(ulps_of)} if ulps_of else {}
        return ElementErrors(
            elements=int(self._a.size),
            unequal=int(self._a.size - np.count_nonzero(self._same)),
            moments=moments_of(r, self._c),
            largest=self._peak(error),
            low=float(r.min()) if r.size else None,
            high=float(r.max()) if r.size else None,
            mismatched=int(np.count_nonzero(mismatched)) + odd,
            beyond_pct=int(np.count_nonzero(beyond)) + odd,
            zero_errors=int(error.size - np.count_nonzero(error)),
            errors=error_counts(error),
            **ulps,
            **self._relative(error, size),
            **self._relative_moments(size),
            **counts,
        )

    def mismatched_control(self, control: Any, tolerance: Tolerance, atol: float) -> int:
        """Return how many elements of another order of the reference mismatch."""
        r = self._r
        with np.errstate(over="ignore"):
            apart = np.abs(control[self._known].astype(np.float64) - r)
            return int(np.count_nonzero(apart > atol + tolerance.rtol * np.abs(r)))

    def _relative(self, error: Any, size: Any) -> dict[str, Any]:
        """Return the largest relative error, and how many elements have none."""
        if size.all():
            return {"largest_relative": self._peak(error / size)}
        known = size != 0
        return {
            "largest_relative": self._peak(error[known] / size[known], np.flatnonzero(known)),
            "from_zero": int(np.count_nonzero(error[~known])),
        }

    def _relative_moments(self, size: Any) -> dict[str, Any]:
        """Return sums over the relative errors, which a factor makes all alike."""
        if not size.size:
            return {}
        known = size > 1e-5 * size.max()  # types of few bits round what is far below more coarsely
        r, c = (self._r, self._c) if known.all() else (self._r[known], self._c[known])
        with np.errstate(over="ignore", invalid="ignore"):
            relative = c / r - 1.0
            sums = float(relative.sum()), float(np.square(relative).sum())
        if not all(map(math.isfinite, sums)):
            return {}
        count = int(relative.size)
        return {"relative_count": count, "relative_sum": sums[0], "relative_squares": sums[1]}

    def _ulps(self, dtype: DataType) -> Any:
        a, b = self._a[self._known], self._b[self._known]
        if dtype is DataType.BF16:  # decoded to FP32, whose upper half it is
            a, b = ((one.view(np.uint32) >> 16).astype(np.uint16) for one in (a, b))
        return ulp_counts(ulp_distances(a, b, dtype))

    def _peak(self, values: Any, among: Any = None) -> Peak | None:
        if not values.size:
            return None
        at = int(values.argmax())
        largest = float(values[at])
        at = at if among is None else int(among[at])
        return Peak(largest, self._place(at if self._all_finite else int(self._known[at])))

    def _place(self, at: int) -> Place:
        return Place(self._start.sample, self._start.flat + at, self._start.shape)

    def _nonfinite(self) -> dict[str, Any]:
        if self._all_finite:
            return {"new_nan": 0, "new_infinite": 0, "lost_nonfinite": 0}
        new_nan = np.count_nonzero(np.isnan(self._odd_b))
        new_infinite = np.count_nonzero(np.isinf(self._odd_b))
        first = np.flatnonzero(self._odd)
        return {
            "new_nan": int(new_nan),
            "new_infinite": int(new_infinite),
            "lost_nonfinite": int(first.size - new_nan - new_infinite),
            "shared_nonfinite": self._shared,
            "first_nonfinite": self._place(int(first[0])) if first.size else None,
        }
