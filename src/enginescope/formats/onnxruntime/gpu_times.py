"""GPU times in place of host times, for nodes of ONNX Runtime's CUDA provider.

ONNX Runtime stamps a node when the host begins and ends to enqueue its kernels; the GPU runs them
later. A trace of CUDA's calls says which work a call enqueued, and how long it took on the GPU.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from enginescope.core.record import Record, replace
from enginescope.formats.lenient_json import Document, finite_number
from enginescope.judge.notice import Notice

#: Providers whose nodes return before the GPU has run them.
ASYNCHRONOUS = frozenset({"CUDAExecutionProvider"})
CONTAINERS = frozenset({"If", "Loop", "Scan"})
SUFFIX = "_kernel_time"
#: ONNX Runtime truncates stamps and durations to microseconds.
_STEP_US = 1.0


class GpuCall(Record, frozen=True, kw_only=True):
    """A kernel, copy or memory set.

    Attributes:
        called_us: When the host called CUDA for it, from the start of the profile on.
        gpu_us: Time on the GPU.
    """

    called_us: float
    gpu_us: float


class GpuTrace(Record, frozen=True, kw_only=True):
    """What the GPU did during a profile.

    Attributes:
        why: Why nothing is known of it; `None` if it is.
    """

    calls: tuple[GpuCall, ...] = ()
    why: str | None = None


class NodeTimes(NamedTuple):
    """A profile, and what its times of asynchronous nodes are.

    Attributes:
        mode: As `enginescope.records.plan.plan.Profile` has it; ``None`` without such nodes.
    """

    document: Document
    mode: Literal["gpu", "host"] | None = None
    notices: tuple[Notice, ...] = ()


class _Span(NamedTuple):
    begin_us: float
    end_us: float
    at: int


def with_gpu_times(document: Document, trace: GpuTrace) -> NodeTimes:
    """Give each node of an asynchronous provider the GPU time of what it called.

    Other nodes keep their host times: they end when their work has ended. So do nodes that contain
    others. Where GPU times are not known, all keep their host times, and a notice says why.
    """
    events = document.value
    if not any(provider_of(event) in ASYNCHRONOUS for event in events):
        return NodeTimes(document)
    spans = _spans(events)
    is_parallel = any(b.begin_us < a.end_us - _STEP_US for a, b in pairwise(spans))
    sums, elsewhere_us = _by_node(spans, trace.calls)
    total_us = sum(sums.values())
    why = trace.why or ("nodes ran at the same time" if is_parallel else None)
    if why is None and not total_us:
        why = "no kernel was traced within a node"
    if why is not None:
        message = (
            "times of nodes on CUDA are the host's, which only enqueues them; the GPU's are not "
            f"known: {why}"
        )
        notice = Notice(code="W-HOST-NODE-TIMES", message=message, evidence={"why": why})
        return NodeTimes(document, "host", (notice,))
    timed = list(events)
    for span in spans:
        if provider_of(events[span.at]) in ASYNCHRONOUS:
            timed[span.at] = {**events[span.at], "dur": sums.get(span.at, 0.0)}
    share_pct = 100 * elsewhere_us / (total_us + elsewhere_us)
    notice = Notice(
        code="I-GPU-NODE-TIMES",
        message="times of nodes on CUDA are the GPU's, of their kernels and copies; "
        f"{share_pct:.2g} % of the GPU time is outside nodes",
        evidence={"nodes_us": total_us, "elsewhere_us": elsewhere_us},
        level="info",
    )
    return NodeTimes(replace(document, value=timed), "gpu", (notice,))


def provider_of(event: Any) -> str | None:
    """The provider that executed a node; ``None`` if the event is something else."""
    if not isinstance(event, dict) or event.get("cat") != "Node":
        return None
    arguments = event.get("args")
    if not str(event.get("name")).endswith(SUFFIX) or not isinstance(arguments, dict):
        return None
    provider = arguments.get("provider")
    return provider if isinstance(provider, str) else None


def _spans(events: Sequence[Any]) -> list[_Span]:
    """Host times of nodes by when they begin, without nodes that contain others."""
    spans = []
    for at, event in enumerate(events):
        if provider_of(event) is None or event["args"].get("op_name") in CONTAINERS:
            continue
        begin, duration = finite_number(event.get("ts")), finite_number(event.get("dur"))
        if begin is not None and duration is not None:
            spans.append(_Span(begin, begin + duration, at))
    return sorted(spans)


def _by_node(spans: Sequence[_Span], calls: Sequence[GpuCall]) -> tuple[dict[int, float], float]:
    """GPU times in us by the node within which they were called, and of calls in none."""
    begins = [span.begin_us for span in spans]
    sums: dict[int, float] = {}
    elsewhere_us = 0.0
    for call in calls:
        before = bisect_right(begins, call.called_us) - 1
        if before >= 0 and call.called_us <= spans[before].end_us + _STEP_US:
            sums[spans[before].at] = sums.get(spans[before].at, 0.0) + call.gpu_us
        else:
            elsewhere_us += call.gpu_us
    return sums, elsewhere_us
