"""How far numbers are from their reference, in one pass: moments that add up without loss.

What is kept is centred and in a unit that is a power of two: neither a large offset nor values
near the ends of float64 cost digits. The error has moments of its own, since the difference of two
nearly equal ones would be noise.

Errors by size: bins of a quarter of a decade, counted without a search for each element.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Elements taken at a time: the float64 copies of them stay in the cache.
CHUNK = 1 << 15
#: A reference whose spread is less than this part of its size is taken for constant.
_CONSTANT = 1e-7
#: Fields of `ErrorMoments` in units, and in units².
_LENGTHS = ("mean_reference", "mean_candidate", "mean_error", "absolute")
_SQUARES = ("reference", "candidate", "product", "error", "cross")


@dataclass(frozen=True, slots=True)
class ErrorMoments:
    """Sums over pairs of finite numbers.

    Attributes:
        unit: A power of two at or above every magnitude seen; 0 before any.
        mean_reference, mean_candidate, mean_error: In units.
        reference, candidate, product: Centered sums of squares of both sides and of their products,
            in units².
        error, cross: The same of the error, and of its products with the reference.
        absolute: Sum of absolute errors, in units.
    """

    count: int = 0
    unit: float = 0.0
    mean_reference: float = 0.0
    mean_candidate: float = 0.0
    mean_error: float = 0.0
    reference: float = 0.0
    candidate: float = 0.0
    product: float = 0.0
    error: float = 0.0
    cross: float = 0.0
    absolute: float = 0.0

    def __add__(self, other: ErrorMoments) -> ErrorMoments:
        """Return the moments of both sets of pairs."""
        if not self.count or not other.count:
            return self if self.count else other
        unit = max(self.unit, other.unit)
        a, b = self._in(unit), other._in(unit)
        count = a.count + b.count
        part = b.count / count
        by_reference = b.mean_reference - a.mean_reference
        by_candidate = b.mean_candidate - a.mean_candidate
        by_error = b.mean_error - a.mean_error
        weight = a.count * part
        return ErrorMoments(
            count=count,
            unit=unit,
            mean_reference=a.mean_reference + part * by_reference,
            mean_candidate=a.mean_candidate + part * by_candidate,
            mean_error=a.mean_error + part * by_error,
            reference=a.reference + b.reference + weight * by_reference**2,
            candidate=a.candidate + b.candidate + weight * by_candidate**2,
            product=a.product + b.product + weight * by_reference * by_candidate,
            error=a.error + b.error + weight * by_error**2,
            cross=a.cross + b.cross + weight * by_reference * by_error,
            absolute=a.absolute + b.absolute,
        )

    def _in(self, unit: float) -> ErrorMoments:
        if unit == self.unit:
            return self
        by = self.unit / unit
        values = {name: getattr(self, name) * by for name in (*_SQUARES, *_LENGTHS)}
        values |= {name: values[name] * by for name in _SQUARES}
        return ErrorMoments(count=self.count, unit=unit, **values)

    @property
    def _reference_energy(self) -> float:
        return self.reference + self.count * self.mean_reference**2

    @property
    def _error_energy(self) -> float:
        return self.error + self.count * self.mean_error**2

    @property
    def mean_absolute_error(self) -> float | None:
        """Mean of |candidate − reference|."""
        return self.absolute / self.count * self.unit if self.count else None

    @property
    def bias(self) -> float | None:
        """Mean of candidate − reference."""
        return self.mean_error * self.unit if self.count else None

    @property
    def rmse(self) -> float | None:
        """Root of the mean squared error."""
        return self._root(self._error_energy)

    @property
    def mean(self) -> float:
        """Mean of the reference; 0 without elements."""
        return self.mean_reference * self.unit

    @property
    def norm(self) -> float | None:
        """Root mean square of the reference."""
        return self._root(self._reference_energy)

    @property
    def spread(self) -> float | None:
        """Standard deviation of the reference."""
        return self._root(self.reference)

    def _root(self, energy: float) -> float | None:
        return math.sqrt(energy / self.count) * self.unit if self.count else None

    @property
    def is_constant(self) -> bool:
        """Whether the reference has no spread that could be told from rounding."""
        return self.reference <= _CONSTANT**2 * self._reference_energy

    @property
    def scale(self) -> float | None:
        """What errors are compared with: the reference's spread, or its size where it has none."""
        return self.norm if self.is_constant else self.spread

    @property
    def error_to_spread(self) -> float | None:
        """RMSE as a part of `scale`; ``None`` where that is 0."""
        held = self._reference_energy if self.is_constant else self.reference
        if not self.count or (held == 0 and self._error_energy > 0):
            return None
        return math.sqrt(self._error_energy / held) if held else 0.0

    @property
    def cosine(self) -> float | None:
        """Cosine of the angle between reference and candidate; ``None`` where one is all zero."""
        dot = self.product + self.count * self.mean_reference * self.mean_candidate
        candidate = self.candidate + self.count * self.mean_candidate**2
        return _ratio(dot, self._reference_energy, candidate)

    @property
    def correlation(self) -> float | None:
        """Pearson's coefficient; ``None`` where one side is constant."""
        return None if self.is_constant else _ratio(self.product, self.reference, self.candidate)

    @property
    def slope(self) -> float | None:
        """Least-squares factor from reference to candidate, beside an offset.

        Of the means where the reference is constant: a factor and an offset are then the same.
        """
        if self.is_constant:
            return 1.0 + self.mean_error / self.mean_reference if self.mean_reference else None
        return 1.0 + self.cross / self.reference

    @property
    def systematic_share(self) -> float | None:
        """Share of the squared error that one factor and one offset explain; ``None``: no error."""
        whole = self._error_energy
        if whole <= 0:
            return None
        by_factor = 0.0 if self.is_constant else self.cross**2 / self.reference
        return min((by_factor + self.count * self.mean_error**2) / whole, 1.0)

    @property
    def snr_db(self) -> float | None:
        """Power of the reference over that of the error, in dB; ``None``: no error or no signal."""
        return _decibel(self._reference_energy, self._error_energy)

    def psnr_db(self, low: float | None, high: float | None) -> float | None:
        """Squared range of the reference over the mean squared error, in dB."""
        if low is None or high is None or not self.count:
            return None
        # not high − low in units: of float64's ends the difference would overflow
        peak = high / self.unit - low / self.unit if self.unit else 0.0
        return _decibel(peak * peak * self.count, self._error_energy)


def moments_of(reference: Any, candidate: Any) -> ErrorMoments:
    """Return the moments of two flat arrays of finite float64, of one length."""
    if not reference.size:
        return ErrorMoments()
    unit = _unit(reference, candidate)
    ours, theirs = reference / unit, candidate / unit
    error = theirs - ours
    means = float(ours.mean()), float(theirs.mean()), float(error.mean())
    absolute = float(np.abs(error).sum())
    ours -= means[0]
    theirs -= means[1]
    error -= means[2]
    return ErrorMoments(
        count=int(reference.size),
        unit=unit,
        mean_reference=means[0],
        mean_candidate=means[1],
        mean_error=means[2],
        # not dot(): BLAS adds up without pairs, and in as many threads as there are
        reference=float(np.square(ours).sum()),
        candidate=float(np.square(theirs).sum()),
        product=float((ours * theirs).sum()),
        error=float(np.square(error).sum()),
        cross=float((ours * error).sum()),
        absolute=absolute,
    )


def moments_of_one(reference: Any) -> ErrorMoments:
    """Return the moments of a flat array of finite float64 alone, as of a pair without error."""
    if not reference.size:
        return ErrorMoments()
    unit = _unit(reference)
    ours = reference / unit
    mean = float(ours.mean())
    ours -= mean
    power = float(np.square(ours).sum())
    return ErrorMoments(
        count=int(reference.size),
        unit=unit,
        mean_reference=mean,
        mean_candidate=mean,
        reference=power,
        candidate=power,
        product=power,
    )


def _unit(*arrays: Any) -> float:
    """Return the power of two at or above every magnitude."""
    peak = max(max(float(array.max()), -float(array.min())) for array in arrays)
    return math.ldexp(1.0, min(math.frexp(peak)[1], 1023)) if peak else math.ldexp(1.0, -1000)


def _ratio(dot: float, first: float, second: float) -> float | None:
    if first <= 0 or second <= 0:
        return None
    return max(-1.0, min(1.0, dot / math.sqrt(first) / math.sqrt(second)))


def _decibel(signal: float, noise: float) -> float | None:
    return 10 * math.log10(signal / noise) if signal > 0 and noise > 0 else None


#: Ends of the histogram in decades of |error|; errors of 0 are counted apart.
HISTOGRAM_DECADES = (-12, 6)
HISTOGRAM_BINS_PER_DECADE = 4
_ENDS = [decade * HISTOGRAM_BINS_PER_DECADE for decade in HISTOGRAM_DECADES]
_EDGES = 10.0 ** (np.arange(_ENDS[0], _ENDS[1] + 1) / HISTOGRAM_BINS_PER_DECADE)
#: Upper ends of the bins; the last bin is open.
HISTOGRAM_EDGES = tuple(float(one) for one in _EDGES)
HISTOGRAM_BINS = len(HISTOGRAM_EDGES) + 1

# The upper 16 bits of a float64 that is not negative: its exponent and four bits of its fraction.
# All numbers that share them lie in one bin, but for those cells that an edge falls into.
_SHIFT = 48
_CELLS = 1 << 15
_LOWEST = (np.arange(_CELLS, dtype=np.int64) << _SHIFT).view(np.float64)
_HIGHEST = (((np.arange(_CELLS, dtype=np.int64) + 1) << _SHIFT) - 1).view(np.float64)
_BIN = np.searchsorted(_EDGES, _HIGHEST)
_IS_CUT = np.searchsorted(_EDGES, _LOWEST) != _BIN
_CUT = np.flatnonzero(_IS_CUT)
_FIRST = np.searchsorted(_BIN, np.arange(HISTOGRAM_BINS))


def error_counts(errors: Any) -> Any:
    """Return how many of the errors fall into each bin; errors of 0 into none.

    Args:
        errors: float64, contiguous, not negative, not NaN.
    """
    cells = errors.view(np.int64) >> _SHIFT
    by_cell = np.bincount(cells, minlength=_CELLS)
    by_cell[0] -= np.count_nonzero(errors == 0)
    by_cell[_CUT] = 0
    cut = np.searchsorted(_EDGES, errors[_IS_CUT[cells]])
    return np.add.reduceat(by_cell, _FIRST) + np.bincount(cut, minlength=HISTOGRAM_BINS)
