"""Times at which the queries of a load test arrive, drawn before the test."""

from __future__ import annotations

import numpy as np

from enginescope.judge.samples import Array
from enginescope.records.run.load import LoadRule


def arrival_times_ms(rule: LoadRule, rate_per_s: float | None) -> Array:
    """Return the intended arrival of each query in milliseconds, the same for the same seed.

    Gaps of ``poisson`` are exponential with mean ``1 / rate``, so that the number of arrivals in
    any stretch of time has a Poisson distribution.

    Args:
        rate_per_s: Queries per second, above 0; a trace does not need it, and a burst has as many
            queries as would arrive in the duration.
    """
    if rule.arrivals == "trace":
        times = np.asarray(rule.times_ms, dtype=np.float64)
        return times if rule.queries is None else times[: rule.queries]
    gap_ms = 1e3 / (rate_per_s or 1.0)
    expected = int(np.ceil(rule.duration_ms / gap_ms))
    queries = rule.queries or (rule.least_queries if expected < rule.least_queries else None)
    if rule.arrivals in ("constant", "burst"):
        numbers = np.arange(queries or expected)
        return 0.0 * numbers if rule.arrivals == "burst" else gap_ms * numbers
    generator = np.random.default_rng(rule.seed)
    if queries is not None:
        return np.cumsum(generator.exponential(gap_ms, queries))
    times = np.zeros(0)
    while not times.size or times[-1] <= rule.duration_ms:
        block = generator.exponential(gap_ms, max(16, int(1.1 * rule.duration_ms / gap_ms)))
        times = np.concatenate((times, (times[-1] if times.size else 0.0) + np.cumsum(block)))
    return times[: max(1, int(np.searchsorted(times, rule.duration_ms)))]
