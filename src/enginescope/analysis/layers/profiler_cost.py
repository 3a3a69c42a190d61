"""What a layer profiler adds to each layer, and the times without it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from enginescope.core.record import Record
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.samples import Interval


def without_events(profile: Profile) -> Profile:
    """Return a gated profile with the layers' own times, which add up to the engine's gated time.

    Every layer pays the same for its events; a layer that took less than that launches nothing.
    The upper end of a layer's interval is its kernel alone: in the engine, a launch overlaps the
    kernel before it. What the profiler reported stays as `LayerTiming.raw_ms`. A profile that is
    not gated stays as it is.
    """
    if profile.gated_ms is None or profile.has_own_times:
        return profile
    raw_ms = [one.median_ms for one in profile.layers if one.median_ms is not None]
    gated = profile.gated_interval or Interval(low=profile.gated_ms, high=profile.gated_ms)
    cost_ms = event_cost(raw_ms, profile.gated_ms)
    costs = Interval(
        low=max(0.0, event_cost(raw_ms, gated.high) - _overlap_ms(profile)),
        high=event_cost(raw_ms, gated.low),
    )
    layers = [_own(one, cost_ms, costs, profile.iterations) for one in profile.layers]
    whole_ms = sum(one.mean_ms or 0.0 for one in layers)
    shares = [100 * (one.mean_ms or 0.0) / whole_ms if whole_ms else None for one in layers]
    return replace(
        profile,
        layers=tuple(
            replace(one, share_pct=share) for one, share in zip(layers, shares, strict=True)
        ),
    )


def _overlap_ms(profile: Profile) -> float:
    """Return what a launch hides behind the kernel before it, where no event is between them.

    It is what the GPU takes from one layer's last event to the next one's first (decision 60).
    """
    timed = [one.mean_ms for one in profile.layers if one.mean_ms]
    if profile.whole_ms is None or not timed:
        return 0.0
    return max(0.0, profile.whole_ms - sum(timed)) / len(timed)


def _own(raw: LayerTiming, cost_ms: float, costs: Interval, iterations: int | None) -> LayerTiming:
    if raw.mean_ms is None or raw.median_ms is None:
        return raw
    mean_ms = max(0.0, raw.mean_ms - cost_ms)
    interval = raw.interval and Interval(
        low=max(0.0, raw.interval.low - costs.high), high=max(0.0, raw.interval.high - costs.low)
    )
    changed: dict[str, Any] = {
        "mean_ms": mean_ms,
        "median_ms": max(0.0, raw.median_ms - cost_ms),
        "interval": interval,
        "total_ms": mean_ms * iterations if iterations else None,
    }
    return replace(raw, raw_ms=raw.median_ms, **changed)


def event_cost(times_ms: Iterable[float], whole_ms: float) -> float:
    """Return what has to be taken off each layer so that the rest adds up to `whole_ms`.

    Args:
        times_ms: Of the layers; one that takes less than the cost is left with 0.

    Returns:
        Milliseconds; 0 where the layers add up to no more than the whole.
    """
    cost_ms, sum_ms = 0.0, 0.0
    for count, time_ms in enumerate(sorted(times_ms, reverse=True), 1):
        sum_ms += time_ms
        shared_ms = (sum_ms - whole_ms) / count
        if shared_ms >= time_ms:  # this layer and all shorter ones are nothing but events
            break
        cost_ms = shared_ms
    return max(0.0, cost_ms)


#: Highest cost of one pair of events that was measured.
_MOST_MS = 0.00234


class ProfilerCost(Record, frozen=True, kw_only=True):
    """What the profiler added to each layer.

    Attributes:
        per_layer_ms: Cost of one pair of events.
        scale: Applied to what remains, at most 1: in the profiling pass the GPU's clocks were
            lower, or launches overlapped less.
    """

    per_layer_ms: float
    scale: float

    def own_ms(self, time_ms: float) -> float:
        """Return a layer's time without the profiler's part."""
        return max(0.0, time_ms - self.per_layer_ms) * self.scale


def profiler_cost(
    profile: Profile | None, times_ms: Iterable[float], whole_ms: float | None
) -> ProfilerCost | None:
    """Estimate it where it was not measured: from layers that add up to more than the engine takes.

    Every layer pays the same, but no more than was ever measured; the rest of the difference is
    shared in proportion. The layers' own times then add up to `whole_ms` at most.

    Args:
        times_ms: Mean times of the profile's layers.
        whole_ms: Mean time of the whole engine in the pass without a profiler.

    Returns:
        ``None``: the times are without it, or it cannot be estimated, since `whole_ms` is not known
        or the layers add up to no more.
    """
    if profile is None or profile.has_own_times:
        return None
    timed = [time for time in times_ms if time > 0]
    excess_ms = sum(timed) - whole_ms if whole_ms is not None else 0.0
    if whole_ms is None or excess_ms <= 0:
        return None
    per_layer_ms = min(excess_ms / len(timed), _MOST_MS)
    left_ms = sum(max(0.0, time - per_layer_ms) for time in timed)
    scale = min(1.0, whole_ms / left_ms) if left_ms else 1.0
    return ProfilerCost(per_layer_ms=per_layer_ms, scale=scale)


def engine_ms(profile: Profile | None, whole_ms: float | None) -> float | None:
    """Return the mean time of a whole inference in ms, of which layers and savings are shares.

    Of own times it is their sum: kernels launched one by one. Else it is `whole_ms`, or the sum of
    the layers where that is unknown.
    """
    if profile is None:
        return None
    if whole_ms is None or profile.has_own_times:
        return profile.sum_mean_ms
    return whole_ms
