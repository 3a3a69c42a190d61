"""Each layer against what the GPU could do at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from enginescope.analysis.roofline.gpu_limits import GpuLimits, rate_precision
from enginescope.analysis.roofline.layer_work import MOVING_TYPES, LayerWork
from enginescope.core.record import Record
from enginescope.records.plan.plan import Attribution, Layer, Plan

#: Layers that `Roofline.worst` returns by default.
WORST = 10


class LayerRoof(Record, frozen=True, kw_only=True):
    """One layer's limit.

    Attributes:
        position: In the plan's layers.
        bound: What takes longer at the GPU's peaks; ``None`` if neither time is known.
        memory_ms: Time to move its bytes once, without padding, at the peak bandwidth.
        compute_ms: Time of its multiply-accumulates at the peak rate of its precision.
        is_partial: Whether it may compute more than is known: the limit is then too low.
        time_ms: What it took, without the profiler's own time where that is known.
    """

    position: int
    bound: str | None = None
    memory_ms: float | None = None
    compute_ms: float | None = None
    is_partial: bool = False
    time_ms: float | None = None

    @property
    def attainable_ms(self) -> float | None:
        """The longer of both times: no layer is faster, unless a cache holds what it moves."""
        known = [one for one in (self.memory_ms, self.compute_ms) if one is not None]
        return max(known) if known else None

    @property
    def distance(self) -> float | None:
        """Time taken ÷ attainable time; below 1: its tensors came from the cache."""
        limit = self.attainable_ms
        return self.time_ms / limit if self.time_ms is not None and limit else None

    @property
    def excess_ms(self) -> float | None:
        """Time that it would save at its limit; 0 for a layer that is faster already."""
        limit = self.attainable_ms
        if self.time_ms is None or limit is None:
            return None
        return max(0.0, self.time_ms - limit)


class Roofline(Record, frozen=True, kw_only=True):
    """A plan's layers against one GPU.

    Attributes:
        layers: One for each layer that is not inert, in the plan's order.
        profiler_ms: Estimate of what the profiler added to each layer, which no time here contains;
            ``None``: nothing, or it is unknown.
    """

    gpu: GpuLimits
    layers: tuple[LayerRoof, ...]
    profiler_ms: float | None = None

    def worst(self, count: int = WORST) -> tuple[LayerRoof, ...]:
        """Return the layers that lose most time against their limit, the first loses most.

        Layers whose limit is known in part only are left out: their loss would be overstated.
        """
        losing = [layer for layer in self.layers if layer.excess_ms and not layer.is_partial]
        return tuple(sorted(losing, key=lambda one: -(one.excess_ms or 0.0))[:count])

    def saving_ms(self, count: int | None = None) -> float:
        """Return the time saved if the worst layers, by default all, ran at their limit."""
        worst = self.worst(len(self.layers) if count is None else count)
        return sum(one.excess_ms or 0.0 for one in worst)

    @property
    def unknown(self) -> int:
        """Layers with a time and without a limit."""
        return sum(
            layer.time_ms is not None and layer.attainable_ms is None for layer in self.layers
        )

    @property
    def unranked(self) -> tuple[LayerRoof, ...]:
        """Layers that took time and whose loss is unknown: without a limit or with a part of it."""
        return tuple(
            one for one in self.layers if one.time_ms and (one.is_partial or one.excess_ms is None)
        )

    @property
    def bounds(self) -> dict[str, int]:
        """Number of layers that each bound limits, of those that took time."""
        return Counter(one.bound for one in self.layers if one.time_ms and one.bound)

    @property
    def least_ms(self) -> float:
        """Sum of the layers' limits, as far as they are known: no inference takes less."""
        return sum(one.attainable_ms or 0.0 for one in self.layers)


def roofline(
    plan: Plan,
    works: Sequence[LayerWork],
    gpu: GpuLimits,
    attribution: Attribution | None = None,
    profiler_ms: float | None = None,
) -> Roofline:
    """Return the limits of a plan's layers on `gpu`.

    The limit is the roofline model's: max(multiply-accumulates ÷ peak rate, bytes ÷ peak
    bandwidth) (Williams, Waterman and Patterson, 2009).

    Args:
        works: One for each of the plan's layers.
        attribution: The layers' times, of the same plan.
        profiler_ms: See `Roofline`.
    """
    times = [one.timing for one in attribution.layers] if attribution else [None] * len(plan.layers)
    roofs = []
    for position, (layer, work, timing) in enumerate(zip(plan.layers, works, times, strict=True)):
        if layer.is_inert:
            continue
        time_ms = timing.time_ms if timing else None
        roofs.append(layer_roof(layer, work, gpu, time_ms, position=position))
    return Roofline(gpu=gpu, layers=tuple(roofs), profiler_ms=profiler_ms)


def layer_roof(
    layer: Layer,
    work: LayerWork,
    gpu: GpuLimits,
    time_ms: float | None = None,
    *,
    position: int = 0,
) -> LayerRoof:
    """Return the limit of one layer on `gpu`.

    Args:
        work: Its own.
        time_ms: What it took.
        position: In the plan's layers.
    """
    memory_ms = work.moved_bytes / gpu.bytes_per_ms if work.moved_bytes is not None else None
    compute_ms = _compute_ms(work, rate_precision(layer), gpu)
    return LayerRoof(
        position=position,
        bound=_bound(memory_ms, compute_ms),
        memory_ms=memory_ms,
        compute_ms=compute_ms,
        is_partial=compute_ms is None and layer.type not in MOVING_TYPES,
        time_ms=time_ms,
    )


def _compute_ms(work: LayerWork, precision: str | None, gpu: GpuLimits) -> float | None:
    if work.macs is None or precision is None:
        return None
    rate = gpu.macs_per_ms(precision)
    if rate is None and precision == "TF32":
        rate = gpu.macs_per_ms("FP32")
    return work.macs / rate if rate else None


def _bound(memory_ms: float | None, compute_ms: float | None) -> str | None:
    if memory_ms is None and compute_ms is None:
        return None
    return "compute" if (compute_ms or 0.0) > (memory_ms or 0.0) else "memory"
