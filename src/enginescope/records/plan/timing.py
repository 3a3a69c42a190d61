"""Times of layers, and their assignment to a plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer
from enginescope.records.samples import Array

#: Sources that hold the time of each layer in each iteration, not averages alone.
_PER_ITERATION = frozenset({"fake", "onnxruntime", "tensorrt"})
#: Batches of consecutive iterations, and the fewest iterations in one.
BATCHES = 12
LEAST_IN_BATCH = 5


class LayerTiming(Record, frozen=True, kw_only=True, gc=False):
    """Time of one layer or node in a profile.

    Attributes:
        index: Position in the profile, from 0; names may repeat.
        mean_ms, median_ms: Per iteration.
        total_ms: Over all iterations of the profile.
        share_pct: As the source states it, 0…100.
        kind: Operator or layer type, when the profile itself says it.
        provider: Execution provider that ran it (ONNX Runtime).
        is_container: ``If``, ``Loop`` or ``Scan``: its time holds that of the nodes inside, listed
            apart.
    """

    index: int
    name: str
    mean_ms: float | None = None
    median_ms: float | None = None
    total_ms: float | None = None
    share_pct: float | None = None
    kind: str | None = None
    provider: str | None = None
    is_container: bool = False


class Profile(Record, frozen=True, kw_only=True):
    """Per-layer times from one profiling pass, never from the timed one.

    Attributes:
        source: ``"trtexec"``, ``"onnxruntime"``, ``"torch-tensorrt"``.
        layers: In execution order.
        iterations: Runs the figures are taken over.
        whole_ms: Mean time of a whole iteration in that same pass, when it was seen.
        batch_sums_ms: From `batch_sums`: how far the sum of the layers' medians varies. Empty: the
            source states averages only, or has too few iterations.
        resolution_ms: How far the true time of a layer may lie below and above its median, because
            its clock has steps.
    """

    source: str
    layers: tuple[LayerTiming, ...]
    iterations: int | None = None
    whole_ms: float | None = None
    batch_sums_ms: tuple[float, ...] = ()
    resolution_ms: tuple[float, float] = (0.0, 0.0)

    @property
    def statistic(self) -> Literal["median", "mean"]:
        """The figure of a layer: medians need the time of each iteration."""
        return "median" if self.source in _PER_ITERATION else "mean"

    @property
    def sum_mean_ms(self) -> float | None:
        """Sum of the layers' means, containers left out; ``None`` if no layer has one."""
        return _sum(one.mean_ms for one in self.layers if not one.is_container)

    @property
    def sum_median_ms(self) -> float | None:
        """Sum of the layers' medians, containers left out; ``None`` if no layer has one."""
        return _sum(one.median_ms for one in self.layers if not one.is_container)


def batch_sums(times_ms: Array) -> tuple[float, ...]:
    """Return the sum of the layers' medians in each of twelve batches of iterations.

    Args:
        times_ms: Containers left out.

    Returns:
        Empty for fewer than 60 iterations: a median of fewer than five is hardly one.
    """
    if len(times_ms) < BATCHES * LEAST_IN_BATCH:
        return ()
    batches = np.array_split(times_ms, BATCHES)
    return tuple(float(np.median(batch, axis=0).sum()) for batch in batches)


def _sum(times_ms: Iterable[float | None]) -> float | None:
    known = [ms for ms in times_ms if ms is not None]
    return sum(known) if known else None


class AttributedLayer(Record, frozen=True, kw_only=True, gc=False):
    """A plan's layer and its time; ``None`` where the profile has none."""

    layer: Layer
    timing: LayerTiming | None = None


class Attribution(Record, frozen=True, kw_only=True):
    """A plan's layers joined with a profile.

    Attributes:
        layers: Every layer of the plan, in its order.
        unmatched: Times whose layer the plan does not have.
    """

    layers: tuple[AttributedLayer, ...]
    unmatched: tuple[LayerTiming, ...] = ()
