"""Mean and median of whole requests, timed without a layer profiler."""

from __future__ import annotations

from typing import NamedTuple

from enginescope.records.run.run import Run
from enginescope.records.samples import Summary

#: Layers are timed on the GPU: this metric goes before the headline.
GPU_COMPUTE = "gpu_compute"


class WholeRequest(NamedTuple):
    """A metric's tag, its mean and its median in ms."""

    metric: str
    mean_ms: float
    median_ms: float | None = None


def whole_request(run: Run, measured: Summary | None) -> WholeRequest | None:
    """Return what layer times are held against.

    Args:
        measured: Of its samples: GPU compute time or latency without copies where there is one,
            else the headline. Without samples it is the GPU compute time that the tool printed.
    """
    if measured is not None:
        return WholeRequest(measured.metric, measured.mean_ms, measured.median_ms)
    for printed in run.tool.summaries if run.tool else ():
        if printed.metric == GPU_COMPUTE and printed.mean_ms is not None:
            return WholeRequest(GPU_COMPUTE, printed.mean_ms, printed.median_ms)
    return None
