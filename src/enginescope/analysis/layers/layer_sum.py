"""Compare the sum of the layers with a whole request."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from enginescope.analysis.layers.request_latency import WholeRequest
from enginescope.core.record import Record
from enginescope.records.plan.timing import Profile
from enginescope.records.samples import Interval
from enginescope.stats.student import student_quantile


class LayerSum(Record, frozen=True, kw_only=True):
    """Layer times added up, and a whole request timed without a profiler.

    Attributes:
        sum_ms: Sum of the layers' medians where the profile was taken by enginescope, else of their
            means. Containers left out.
        statistic: What is added up, and what `whole_ms` is.
        interval: 95 % confidence interval of a sum of medians; ``None`` for a sum of means, and for
            fewer than 60 iterations.
        iterations: Iterations of the profiling pass.
        whole_ms: `statistic` of `whole_metric` in the timed pass.
        whole_metric: Tag of the metric: GPU compute time where there is one, else the headline.
        pass_whole_ms: Mean of a whole iteration in the profiling pass itself.
    """

    sum_ms: float
    statistic: Literal["median", "mean"] = "mean"
    interval: Interval | None = None
    iterations: int | None = None
    whole_ms: float | None = None
    whole_metric: str | None = None
    pass_whole_ms: float | None = None

    @property
    def ratio(self) -> float | None:
        """`sum_ms` ÷ `whole_ms`; above 1: the layers add up to more than the whole."""
        return self.sum_ms / self.whole_ms if self.whole_ms else None

    @property
    def difference_ms(self) -> float | None:
        """`sum_ms` − `whole_ms`."""
        return self.sum_ms - self.whole_ms if self.whole_ms is not None else None


def layer_sum(profile: Profile | None, whole: WholeRequest | None) -> LayerSum | None:
    """Return the sum of a profile's layers and `whole`; ``None`` without layer times."""
    if profile is None:
        return None
    statistic = profile.statistic
    is_median = statistic == "median"
    sum_ms = profile.sum_median_ms if is_median else profile.sum_mean_ms
    if sum_ms is None:
        return None
    whole_ms = (whole.median_ms if is_median else whole.mean_ms) if whole else None
    return LayerSum(
        sum_ms=sum_ms,
        statistic=statistic,
        interval=_interval(profile, sum_ms) if is_median else None,
        iterations=profile.iterations,
        whole_ms=whole_ms,
        whole_metric=whole.metric if whole and whole_ms is not None else None,
        pass_whole_ms=profile.whole_ms,
    )


def _interval(profile: Profile, sum_ms: float) -> Interval | None:
    """Return Student's t interval from batches, as wide as the steps of the clock at least."""
    batches = profile.batch_sums_ms
    if not batches:
        return None
    layers = sum(layer.median_ms is not None and not layer.is_container for layer in profile.layers)
    below, above = (layers * step for step in profile.resolution_ms)
    error = float(np.std(batches, ddof=1)) / math.sqrt(len(batches))
    reach = student_quantile(0.975, len(batches) - 1) * error
    return Interval(low=max(0.0, sum_ms - reach - below), high=sum_ms + reach + above)
