"""What of the layers' times is the profiler's own: an estimate.

TensorRT times each layer with a pair of events, and each pair costs GPU time of its own: 1.33 to
2.34 µs on an H100 (TensorRT 8.6, layers with and without the profiler; Nsight Compute agrees within
a few tenths of a microsecond). A kernel of 2 µs looks twice as long as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from enginescope.core.record import Record

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


def profiler_cost(times_ms: Mapping[int, float], whole_ms: float | None) -> ProfilerCost | None:
    """Estimate it from layers that add up to more than the engine takes without a profiler.

    Every layer pays the same, but no more than was ever measured; the rest of the difference is
    shared in proportion. The layers' own times then add up to `whole_ms` at most.

    Args:
        times_ms: Times from the profiler, by layer.
        whole_ms: Time of the whole engine in the pass without a profiler.

    Returns:
        ``None``: it cannot be estimated, since `whole_ms` is not known or the layers add up to no
        more.
    """
    timed = [time for time in times_ms.values() if time > 0]
    excess_ms = sum(timed) - whole_ms if whole_ms is not None else 0.0
    if whole_ms is None or excess_ms <= 0:
        return None
    per_layer_ms = min(excess_ms / len(timed), _MOST_MS)
    left_ms = sum(max(0.0, time - per_layer_ms) for time in timed)
    scale = min(1.0, whole_ms / left_ms) if left_ms else 1.0
    return ProfilerCost(per_layer_ms=per_layer_ms, scale=scale)
