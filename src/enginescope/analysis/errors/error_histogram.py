"""Errors by size: bins of a quarter of a decade, counted without a search for each element."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Ends of the histogram in decades of |error|; errors of 0 are counted apart.
HISTOGRAM_DECADES = (-12, 6)
HISTOGRAM_BINS_PER_DECADE = 4
_EDGES = 10.0 ** (
    np.arange(
        HISTOGRAM_DECADES[0] * HISTOGRAM_BINS_PER_DECADE,
        HISTOGRAM_DECADES[1] * HISTOGRAM_BINS_PER_DECADE + 1,
    )
    / HISTOGRAM_BINS_PER_DECADE
)
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
    cut = errors[_IS_CUT[cells]]
    return np.add.reduceat(by_cell, _FIRST) + np.bincount(
        np.searchsorted(_EDGES, cut), minlength=HISTOGRAM_BINS
    )
