"""What may be stated of layers: their times, and what a change may save.

It is the median where the time of each iteration is known, else the mean. It is without what the
profiler added, where that was measured or can be estimated.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from enginescope.core.record import Record, replace
from enginescope.core.units import sum_known
from enginescope.judge.samples import Interval
from enginescope.records.plan.plan import LayerTiming, Profile


class WholeRequest(NamedTuple):
    """A metric's tag, its mean and its median in ms, and whether a CUDA graph was launched."""

    metric: str
    mean_ms: float
    median_ms: float | None = None
    is_graph: bool | None = None

    def beside(self, profile: Profile) -> float | None:
        """Return the figure that `profile` has of its layers: the median or the mean."""
        return self.median_ms if profile.statistic == "median" else self.mean_ms


def layer_times(profile: Profile, whole: WholeRequest | None = None) -> Profile:
    """Return `profile` with `LayerTiming.time_ms`: the one time of each layer.

    Every layer pays the same for its events. A gated profile shows how much: its layers' own times
    add up to the engine's gated time, and a layer that took less launches nothing. The upper end of
    a layer's interval is its kernel alone: in the engine, a launch overlaps the kernel before it.
    Else `profiler_cost` estimates it for TensorRT's profiler. The profiler's figure stays as
    `LayerTiming.raw_ms`.

    Args:
        whole: Whole requests without the profiler, for the estimate.
    """
    if any(layer.time_ms is not None for layer in profile.layers):
        return profile
    if profile.gated_ms is not None:
        return _gated(profile, profile.gated_ms)
    statistic = profile.statistic  # which looks at every layer
    raw = [layer.median_ms if statistic == "median" else layer.mean_ms for layer in profile.layers]
    whole_ms = whole.beside(profile) if whole else None
    cost = profiler_cost(profile, (time_ms for time_ms in raw if time_ms is not None), whole_ms)
    times = zip(profile.layers, raw, strict=True)
    return replace(
        profile,
        layers=tuple(
            replace(layer, time_ms=time_ms)
            if cost is None or time_ms is None
            else replace(layer, time_ms=cost.own_ms(time_ms), raw_ms=time_ms, interval=None)
            for layer, time_ms in times
        ),
        profiler_ms=cost and cost.per_layer_ms,
    )


def _gated(profile: Profile, gated_ms: float) -> Profile:
    raw_ms = [layer.median_ms for layer in profile.layers if layer.median_ms is not None]
    gated = profile.gated_interval or Interval(low=gated_ms, high=gated_ms)
    cost_ms = event_cost(raw_ms, gated_ms)
    costs = Interval(
        low=max(0.0, event_cost(raw_ms, gated.high) - _overlap_ms(profile)),
        high=event_cost(raw_ms, gated.low),
    )
    return replace(profile, layers=tuple(_own(layer, cost_ms, costs) for layer in profile.layers))


def _overlap_ms(profile: Profile) -> float:
    """Return what a launch hides behind the kernel before it, where no event is between them.

    It is what the GPU takes from one layer's last event to the next one's first (decision 60).
    """
    timed = [one.mean_ms for one in profile.layers if one.mean_ms]
    if profile.whole_ms is None or not timed:
        return 0.0
    return max(0.0, profile.whole_ms - sum(timed)) / len(timed)


def _own(raw: LayerTiming, cost_ms: float, costs: Interval) -> LayerTiming:
    if raw.median_ms is None:
        return raw
    interval = raw.interval and Interval(
        low=max(0.0, raw.interval.low - costs.high), high=max(0.0, raw.interval.high - costs.low)
    )
    time_ms = max(0.0, raw.median_ms - cost_ms)
    return replace(raw, time_ms=time_ms, raw_ms=raw.median_ms, interval=interval)


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
    profile: Profile, times_ms: Iterable[float], whole_ms: float | None
) -> ProfilerCost | None:
    """Estimate it where it was not measured: from layers that add up to more than the engine takes.

    Every layer pays the same, but no more than was ever measured; the rest of the difference is
    shared in proportion. The layers' own times then add up to `whole_ms` at most.

    Args:
        times_ms: Of the profile's layers, as it reported them.
        whole_ms: The same figure of the whole engine in the pass without a profiler.

    Returns:
        ``None``: the times are without it, or it cannot be estimated, since `whole_ms` is not
        known, the layers add up to no more, or the profiler is not TensorRT's.
    """
    if profile.source not in ("tensorrt", "trtexec") or profile.has_own_times:
        return None
    timed = [time for time in times_ms if time > 0]
    excess_ms = sum(timed) - whole_ms if whole_ms is not None else 0.0
    if whole_ms is None or excess_ms <= 0:
        return None
    per_layer_ms = min(excess_ms / len(timed), 0.00234)  # the highest that was measured
    left_ms = sum(max(0.0, time - per_layer_ms) for time in timed)
    scale = min(1.0, whole_ms / left_ms) if left_ms else 1.0
    return ProfilerCost(per_layer_ms=per_layer_ms, scale=scale)


def comparable(profiles: Sequence[Profile | None]) -> tuple[Profile | None, ...]:
    """Return the profiles of several sides, with times that contain the same.

    An estimate of the profiler's cost counts only where no side contains that cost; else the sides
    that have one are as the profiler reported them.
    """
    decided = tuple(profile and layer_times(profile) for profile in profiles)
    if all(profile.has_own_times for profile in decided if profile):
        return decided
    reported = list(decided)
    for at, profile in enumerate(decided):
        if profile and profile.profiler_ms is not None:
            layers = (replace(one, time_ms=one.raw_ms, raw_ms=None) for one in profile.layers)
            reported[at] = replace(profile, layers=tuple(layers), profiler_ms=None)
    return tuple(reported)


def engine_ms(profile: Profile | None, whole: WholeRequest | None) -> float | None:
    """Return the time of a whole inference in ms, of which layers and savings are shares.

    Of own times it is their sum: kernels launched one by one. Else it is that of `whole`; the sum
    of the layers where that is unknown, or less: shares of it would be of two clocks.
    """
    if profile is None:
        return None
    whole_ms = whole.beside(profile) if whole and not profile.has_own_times else None
    return max((ms for ms in (whole_ms, profile.sum_ms) if ms is not None), default=None)


class Saving(Record, frozen=True, kw_only=True):
    """Times in ms that a change may save, by kind; kinds are never added or ranked together.

    Attributes:
        bound_ms: Of one inference, at most. Time counts once: what an earlier change may save is
            not in it. So all bounds add up to `engine_ms` at most.
        item_ms: Of each item of a larger batch, at most; a single inference takes no less.
        unknown_of_ms: An unknown part of this: time of layers that is in no bound.
        alone_ms: `bound_ms` or `item_ms` if nothing else were changed.
        engine_ms: Time of a whole inference, of which shares are percentages.
    """

    bound_ms: float | None = None
    item_ms: float | None = None
    unknown_of_ms: float | None = None
    alone_ms: float | None = None
    engine_ms: float | None = None

    @property
    def known_ms(self) -> float | None:
        """The bound of one inference, else that of an item."""
        return self.item_ms if self.bound_ms is None else self.bound_ms

    @property
    def shared_alone_ms(self) -> float | None:
        """`alone_ms` where other changes may save much of the same time; else ``None``."""
        known, alone = self.known_ms, self.alone_ms
        return alone if known is not None and alone and alone > 1.2 * known else None

    @property
    def rank(self) -> tuple[int, float]:
        """Sort key: known bounds, the largest first; then bounds of an item; then unknown ones."""
        for place, time_ms in enumerate((self.bound_ms, self.item_ms, self.unknown_of_ms)):
            if time_ms is not None:
                return place, -time_ms
        return 3, 0.0

    def share_pct(self, time_ms: float | None) -> float | None:
        """Return one of the times as a percentage of the engine's time."""
        return 100 * time_ms / self.engine_ms if time_ms is not None and self.engine_ms else None

    def fields(self) -> dict[str, float | None]:
        """Return the times, and the shares of the first three, as files and frames hold them."""
        return {
            "bound_ms": self.bound_ms,
            "bound_pct": self.share_pct(self.bound_ms),
            "item_ms": self.item_ms,
            "item_pct": self.share_pct(self.item_ms),
            "unknown_of_ms": self.unknown_of_ms,
            "unknown_of_pct": self.share_pct(self.unknown_of_ms),
            "alone_ms": self.alone_ms,
        }


def together(savings: Iterable[Saving]) -> Saving:
    """Return what several changes may save together: each kind added up by itself."""
    several = tuple(savings)
    return Saving(
        bound_ms=sum_known(saving.bound_ms for saving in several),
        item_ms=sum_known(saving.item_ms for saving in several),
        unknown_of_ms=sum_known(saving.unknown_of_ms for saving in several),
        alone_ms=sum_known(saving.alone_ms for saving in several),
        engine_ms=next((saving.engine_ms for saving in several if saving.engine_ms), None),
    )
