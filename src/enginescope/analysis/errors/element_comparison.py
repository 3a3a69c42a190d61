"""Two tensors of one shape compared with each other, element by element, chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from enginescope.analysis.errors.channel_errors import flat_numbers, kind_of
from enginescope.analysis.errors.element_errors import (
    ULP_BINS,
    ElementErrors,
    Peak,
    Place,
    has_ulps,
    ulp_counts,
    ulp_distances,
)
from enginescope.analysis.errors.error_moments import (
    CHUNK,
    ErrorMoments,
    error_counts,
    moments_of,
    moments_of_one,
)
from enginescope.analysis.errors.output_tolerance import Tolerance
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType

#: Part of the largest |reference| from which on relative errors are summed: types of few bits round
#: what is far below it more coarsely.
_FAR_BELOW = 1e-5


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


def _common_float(a: DataType, b: DataType) -> DataType | None:
    return a if a is b and has_ulps(a) else None


class _Piece:
    """A chunk of both sides."""

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
            ulps=self._ulps(ulps_of) if ulps_of else np.zeros(ULP_BINS, dtype=np.int64),
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
        known = size > _FAR_BELOW * size.max()
        r, c = (self._r, self._c) if known.all() else (self._r[known], self._c[known])
        with np.errstate(over="ignore", invalid="ignore"):
            relative = c / r - 1.0
            sums = float(relative.sum()), float(np.square(relative).sum())
        if not all(map(math.isfinite, sums)):
            return {}
        return {
            "relative_count": int(relative.size),
            "relative_sum": sums[0],
            "relative_squares": sums[1],
        }

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
        """Return counts of what is not finite, and where the first disagreement is."""
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
