"""The statistics of a series of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from enginescope.records.samples import Array, Percentile, Samples, Summary
from enginescope.stats.autocorrelation import effective_samples, levels_of
from enginescope.stats.batch_means import quantile_interval
from enginescope.stats.percentile import nearest_rank, needed_samples
from enginescope.stats.series import as_series

PERCENTILES = (90.0, 95.0, 99.0)
_MEDIAN = 50.0


def describe(
    samples: Samples,
    *,
    batch: int | None = None,
    one_in_flight: bool = True,
    percentiles: Sequence[float] = PERCENTILES,
) -> Summary:
    """Return the statistics of `samples`.

    Args:
        samples: At least one; its warm-up is left out.
        batch: Items per request; 1 where it is not known.
        one_in_flight: Whether a request begins only when the one before has ended. If not, a
            latency says nothing of the throughput, which is then ``None``.
        percentiles: Which to state, each between 0 and 100, both excluded.

    Raises:
        UsageError: No samples, one that is not finite, or a percentile out of range.
    """
    summary = describe_values(samples.values_ms, metric=samples.metric, percentiles=percentiles)
    if not one_in_flight or summary.mean_ms <= 0:
        return summary
    rate = 1e3 * (1 if batch is None else batch) / summary.mean_ms
    return msgspec.structs.replace(summary, throughput_per_s=rate)


def describe_values(
    values_ms: Any, *, metric: str = "latency", percentiles: Sequence[float] = PERCENTILES
) -> Summary:
    """Return the statistics of durations; no throughput, since nothing says how they were taken.

    Args:
        values_ms: Milliseconds, in the order they were taken.

    Raises:
        UsageError: No values, one that is not finite, or a percentile out of range.
    """
    series = as_series(values_ms, name=f"samples of {metric}")
    ordered = np.sort(series)
    judged = sorted({_MEDIAN, *PERCENTILES, *percentiles})
    support = {p: _support(series, ordered, p) for p in judged}
    mean = float(np.mean(series))
    std = float(np.std(series))
    return Summary(
        metric=metric,
        n=series.size,
        effective_n=_effective(series),
        min_ms=float(ordered[0]),
        max_ms=float(ordered[-1]),
        mean_ms=mean,
        median_ms=float(np.median(ordered)),
        std_ms=std,
        cv_pct=100 * std / mean if mean else None,
        median_interval=quantile_interval(series, 0.5),
        percentiles=tuple(
            Percentile(
                p=p,
                value_ms=float(ordered[nearest_rank(p, series.size)]),
                effective_n=support[p],
                needed_n=needed_samples(p),
                interval=quantile_interval(series, p / 100),
                n=series.size,
                weak_below=_weak_below(p, support),
            )
            for p in percentiles
        ),
    )


def _effective(series: Array) -> float:
    return effective_samples(levels_of(series)) if series.size >= 4 else float(series.size)


def _support(series: Array, ordered: Array, p: float) -> float:
    """Return the effective samples of percentile `p`."""
    if series.size < 4:
        return float(series.size)
    return effective_samples(series <= ordered[nearest_rank(p, series.size)])


def _weak_below(p: float, support: Mapping[float, float]) -> float | None:
    """Return the lowest percentile from the median to below `p` that lacks samples."""
    weak = (
        lower
        for lower in sorted(support)
        if _MEDIAN <= lower < p and support[lower] < needed_samples(lower)
    )
    return next(weak, None)
