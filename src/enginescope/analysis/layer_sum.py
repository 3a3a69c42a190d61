"""The sum of the layers against the whole."""

from __future__ import annotations

from enginescope.analysis.whole_request import WholeRequest
from enginescope.core.record import Record
from enginescope.model.timing import Profile


class LayerSum(Record, frozen=True, kw_only=True):
    """Layer times added up, beside a whole request that was timed without a profiler.

    Attributes
    ----------
    sum_ms : float
        Sum of the layers' mean times, containers left out.
    whole_ms : float or None
        Mean of `whole_metric` in the timed pass.
    whole_metric : str or None
        Tag of the metric: GPU compute time where there is one, else the headline.
    pass_whole_ms : float or None
        Mean of a whole iteration in the profiling pass itself.
    """

    sum_ms: float
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
    """Return the sum of a profile's layers against `whole`; ``None`` without layer times."""
    sum_ms = profile.sum_mean_ms if profile else None
    if profile is None or sum_ms is None:
        return None
    return LayerSum(
        sum_ms=sum_ms,
        whole_ms=whole.mean_ms if whole else None,
        whole_metric=whole.metric if whole else None,
        pass_whole_ms=profile.whole_ms,
    )
