"""Launches that a CUDA graph would hide.

What it looks for: an engine of at least ten layers that ran without a CUDA graph. Its launches take
at least 2 % of its time. The severity is warning from 5 %, and where the host needs as long to
enqueue as the GPU to compute. The run or trtexec's options say whether a CUDA graph was used.
Otherwise less than 0.5 µs of enqueue time per layer means a CUDA graph.

Why it costs time: each kernel waits for its own launch. In a CUDA graph the launch overlaps the
kernel before it. A CUDA graph saved 0.6 to 0.9 µs per layer on an H100 and an H200 (TensorRT 8.6).
The least, 0.6 µs of each layer, is at stake.

What to do: capture the inference in a CUDA graph: ``--useCudaGraph`` in trtexec, ``--graph on`` in
``enginescope bench``, ``cudaStreamBeginCapture`` in an application.

When it is wrong: shapes change at each inference, or a layer synchronizes with the host. Such an
engine cannot be captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

#: What graphs saved per layer; the least is at stake.
_LAUNCH_MS, _MOST_LAUNCH_MS = 0.0006, 0.0009
_GRAPH_ENQUEUE_MS = 0.0005
_FEWEST = 10
_LEAST_PCT = 2.0
_WARNING_PCT = 5.0
_HOST_BOUND = 0.9


def _check(view: LintView) -> Iterator[Found]:
    launched = [layer.index for layer in view.active if view.times_ms.get(layer.index)]
    share = view.share_pct(_LAUNCH_MS * len(launched))
    if len(launched) < _FEWEST or share is None or share < _LEAST_PCT:
        return
    if _ran_as_graph(view, len(launched)) is not False:
        return
    enqueue_ms, engine_ms = view.enqueue_ms, view.engine_ms
    host_bound = enqueue_ms is not None and enqueue_ms >= _HOST_BOUND * (engine_ms or 0.0)
    warns = host_bound or share >= _WARNING_PCT
    yield Found(
        layers=tuple(launched),
        subject="the engine",
        message=f"launches {len(launched):,} layers one by one, without a CUDA graph; elsewhere a "
        f"graph saved {1e3 * _LAUNCH_MS:g} to {1e3 * _MOST_LAUNCH_MS:g} µs a layer"
        + ("; the host enqueues no faster than the GPU computes" if host_bound else ""),
        evidence={"launches": len(launched), "enqueue_ms": enqueue_ms, "launch_ms": _LAUNCH_MS},
        severity=None if warns else Severity.INFO,
        stakes_ms=dict.fromkeys(launched, _LAUNCH_MS),
    )


def _ran_as_graph(view: LintView, launches: int) -> bool | None:
    if view.cuda_graph is not None or view.enqueue_ms is None:
        return view.cuda_graph
    return view.enqueue_ms < _GRAPH_ENQUEUE_MS * launches


RULE = Rule(
    code="TIME206",
    name="no-cuda-graph",
    summary="The engine ran without a CUDA graph, which would hide launches",
    severity=Severity.WARNING,
    advice="capture the inference in a CUDA graph",
    doc=__doc__,
    check=_check,
    explains=("TIME202",),
)
