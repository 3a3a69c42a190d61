"""The step in which values come: what the clock behind them can tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.stats.series import as_series

#: Values this close, relative to the median, are one value that was printed in decimal.
_PRINTED = 1e-5
#: A step is believed when every value of the middle is seen so often on average.
_REPEATS = 4.0


def quantum(values: Any) -> float | None:
    """Return the step between neighbouring distinct values, or ``None`` where none is seen.

    The median gap between distinct values of the middle 90 % of the samples, each gap counting for
    as many samples as the rarer of its two ends has. Only where values repeat: a fine clock gives
    hardly any value twice.

    Parameters
    ----------
    values : array_like, shape (n,)

    Returns
    -------
    float or None
        In the unit of the values; ``None`` too for fewer than two distinct values.

    Raises
    ------
    UsageError
        No values, or one that is not finite.
    """
    ordered = np.sort(as_series(values))
    cut = ordered.size // 20
    middle = ordered[cut : ordered.size - cut]
    near = _PRINTED * abs(float(middle[middle.size // 2]))
    starts = np.flatnonzero(np.diff(middle, prepend=-np.inf) > near)
    if starts.size < 2 or middle.size < _REPEATS * starts.size:
        return None
    counts = np.diff(starts, append=middle.size)
    gaps, weights = np.diff(middle[starts]), np.minimum(counts[1:], counts[:-1])
    order = np.argsort(gaps)
    total = np.cumsum(weights[order])
    return float(gaps[order][np.searchsorted(total, total[-1] / 2)])
