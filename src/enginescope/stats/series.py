"""What a series of measurements has to be before it is worth a statistic."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.core.errors import UsageError
from enginescope.records.samples import Array


def as_series(values: Any, *, name: str = "samples", at_least: int = 1) -> Array:
    """Return `values` as a float64 array of shape (n,).

    Args:
        name: What an error calls them.
        at_least: The smallest n that is enough.

    Raises:
        UsageError: Not one-dimensional, fewer than `at_least` values, or one of them not finite.
    """
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1:
        raise UsageError(name, why=f"{series.ndim} dimensions", hint="give one value per sample")
    if series.size < at_least:
        raise UsageError(
            name,
            why=f"{series.size} values, and {at_least} are needed",
            hint="measure longer: --iterations or --duration",
        )
    finite = np.isfinite(series)
    if not finite.all():
        first = int(np.argmin(finite))
        raise UsageError(
            name,
            why=f"sample {first} is {series[first]}",
            hint="remove values that were not measured; NaN is not a measurement",
        )
    return series
