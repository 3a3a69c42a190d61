"""The percentiles of the headline's curve."""

from __future__ import annotations

from enginescope.judge.samples import Percentile, Samples
from enginescope.judge.stats.describe import describe_values

#: Percentiles of the curve: closer in the tail, which a logarithmic axis spreads.
POINTS = (1.0, 5.0, *map(float, range(10, 90, 10)), *map(float, range(90, 100)), 99.5, 99.9)


def percentile_curve(samples: Samples) -> tuple[Percentile, ...]:
    """Return the percentiles of `samples`, each with its interval or its mark."""
    return describe_values(samples.values_ms, percentiles=POINTS).percentiles
