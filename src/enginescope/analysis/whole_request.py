"""The mean of whole requests, timed without a layer profiler."""

from __future__ import annotations

from enginescope.analysis.run_view import RunView

_GPU_COMPUTE = "gpu_compute"


def whole_request(view: RunView) -> tuple[str, float] | None:
    """Return metric and mean in ms: of the samples, else as the tool printed it.

    GPU compute time goes before the headline, since layers are timed on the GPU.
    """
    summary = view.summary(_GPU_COMPUTE) or view.latency
    if summary is not None:
        return summary.metric, summary.mean_ms
    printed = view.run.tool.summaries if view.run.tool else ()
    means = {one.metric: one.mean_ms for one in printed}
    mean_ms = means.get(_GPU_COMPUTE)
    return (_GPU_COMPUTE, mean_ms) if mean_ms is not None else None
