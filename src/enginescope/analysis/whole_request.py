"""The mean of whole requests, timed without a layer profiler."""

from __future__ import annotations

from typing import NamedTuple

from enginescope.model.run import Run
from enginescope.model.samples import Summary

#: Layers are timed on the GPU: this metric goes before the headline.
GPU_COMPUTE = "gpu_compute"


class WholeRequest(NamedTuple):
    """A metric's tag, and its mean in ms."""

    metric: str
    mean_ms: float


def whole_request(run: Run, measured: Summary | None) -> WholeRequest | None:
    """Return what layer times are held against.

    Parameters
    ----------
    run : Run
    measured : Summary or None
        Of its samples: GPU compute time or latency without copies where there is one, else the
        headline. Without samples it is the GPU compute time that the tool printed.
    """
    if measured is not None:
        return WholeRequest(measured.metric, measured.mean_ms)
    printed = run.tool.summaries if run.tool else ()
    means = {one.metric: one.mean_ms for one in printed}
    mean_ms = means.get(GPU_COMPUTE)
    return WholeRequest(GPU_COMPUTE, mean_ms) if mean_ms is not None else None
