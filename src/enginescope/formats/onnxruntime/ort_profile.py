"""ONNX Runtime's profile (a JSON list of trace events), 0.4 to 1.32, and the graph it executed.

GPU times replace host times for nodes of the CUDA provider: ONNX Runtime stamps a node when the
host begins and ends to enqueue its kernels, and the GPU runs them later. A trace of CUDA's calls
says which work a call enqueued, and how long it took on the GPU.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from enginescope.core.errors import FormatError
from enginescope.core.record import Record, replace
from enginescope.formats.lenient_json import Document, finite_number
from enginescope.formats.onnx import onnx_precision
from enginescope.formats.onnx.node_owners import with_onnx_nodes
from enginescope.formats.onnx.onnx_graph import reads
from enginescope.formats.onnxruntime.ort_memory import SUFFIX, workspaces_of
from enginescope.judge.notice import Notice, Notices
from enginescope.records.plan import plan
from enginescope.records.tensor import Tensor

#: Providers whose nodes return before the GPU has run them.
ASYNCHRONOUS = frozenset({"CUDAExecutionProvider"})
CONTAINERS = frozenset({"If", "Loop", "Scan"})
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
    notices: Notices = ()


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
        host = "times of nodes on CUDA are the host's, which only enqueues them"
        message = f"{host}; the GPU's are not known: {why}"
        notice = Notice("W-HOST-NODE-TIMES", message, {"why": why})
        return NodeTimes(document, "host", (notice,))
    timed = list(events)
    for span in spans:
        if provider_of(events[span.at]) in ASYNCHRONOUS:
            timed[span.at] = {**events[span.at], "dur": sums.get(span.at, 0.0)}
    share_pct = 100 * elsewhere_us / (total_us + elsewhere_us)
    outside = f"{share_pct:.2g} % of the GPU time is outside nodes"
    message = f"times of nodes on CUDA are the GPU's, of their kernels and copies; {outside}"
    evidence = {"nodes_us": total_us, "elsewhere_us": elsewhere_us}
    notice = Notice("I-GPU-NODE-TIMES", message, evidence)
    return NodeTimes(replace(document, value=timed), "gpu", (notice,))


def provider_of(event: Any) -> str | None:
    """The provider that executed a node; ``None`` if the event is something else."""
    node = _node(event) if isinstance(event, dict) else None
    return node.provider if node else None


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


_MS_PER_US = 1e-3


class _Node(NamedTuple):
    """What tells nodes apart: a name may come again inside a subgraph."""

    name: str
    kind: str | None
    provider: str | None
    node_index: str | None


class _Run(NamedTuple):
    """One run.

    Attributes:
        began_us: When each node began first, from the first node on; places without stamps.
        unplaced: Nodes without a stamp, or with several: they run in the body of a loop.
    """

    whole_ms: float
    sums_ms: dict[_Node, float]
    began_us: dict[_Node, float]
    unplaced: set[_Node]


def ort_profile_of(
    document: Document, trace: GpuTrace | None = None
) -> tuple[plan.Profile, Notices]:
    """Return the time of each node in a profile.

    Times are summed within a run, since a node in the body of a loop runs several times; mean and
    median are over runs. The first run, which pays for allocation and autotuning, is dropped where
    there are more. ``If``, ``Loop`` and ``Scan`` are marked: their time holds that of the nodes
    inside, which are listed too.

    Args:
        trace: What the GPU did meanwhile, if that was traced.

    Returns:
        profile: Nodes in the order they start; `whole_ms` is the mean of ``model_run``.
    """
    if not isinstance(document.value, list):
        raise FormatError(document.source, why="it is not a list of events", expected="a JSON list")
    gpu = _gpu_time(document)
    unknown = GpuTrace(why="kernels are not linked to nodes" if gpu else "no kernels were traced")
    times = with_gpu_times(document, trace or unknown)
    runs, unfinished = _runs(times.document)
    if not runs:
        why = "no finished run in it"
        raise FormatError(document.source, why=why, expected="Session events model_run")
    source, notices = document.source, [*document.notices, *times.notices]
    if unfinished:
        message = f"{source} ends within a run; its {unfinished} node events are skipped"
        notices.append(Notice("W-TRUNCATED", message, {"file": source, "events": unfinished}))
    if len(runs) == 1:
        message = f"{source} holds a single run, the first, which is slower than those after it"
        notices.append(Notice("W-FIRST-RUN", message, {"file": source, "runs": 1}))
    kept = runs[1:] or runs
    starts_ms = {} if times.mode == "gpu" else _starts_ms(kept)  # stamps are the host's
    columns = {
        node: np.array([run.sums_ms.get(node, 0.0) for run in kept]) for node in _in_order(kept)
    }
    layers = tuple(
        plan.LayerTiming(
            index=index,
            name=node.name,
            mean_ms=float(values.mean()),
            median_ms=float(np.median(values)),
            total_ms=float(values.sum()),
            kind=node.kind,
            provider=node.provider,
            is_container=node.kind in CONTAINERS,
            start_ms=starts_ms.get(node),
        )
        for index, (node, values) in enumerate(columns.items())
    )
    own = [values for node, values in columns.items() if node.kind not in CONTAINERS]
    # ONNX Runtime truncates the host's times to microseconds
    host = sum(times.mode != "gpu" or layer.provider not in ASYNCHRONOUS for layer in layers)
    profile = plan.Profile(
        source="onnxruntime",
        layers=layers,
        iterations=len(kept),
        whole_ms=float(np.mean([run.whole_ms for run in kept])),
        mode=times.mode,
        batch_sums_ms=plan.batch_sums(np.array(own).reshape(len(own), len(kept)).T),
        resolution_ms=(0.0, _MS_PER_US * host / max(len(layers), 1)),
    )
    return profile, (*notices, *gpu)


def is_ort_profile(value: Any) -> bool:
    """Whether JSON values look like ONNX Runtime's profile."""
    return isinstance(value, list) and any(
        isinstance(one, dict) and one.get("cat") in ("Session", "Node") and "dur" in one
        for one in value[:50]
    )


def _runs(document: Document) -> tuple[list[_Run], int]:
    """Finished runs, and how many node events came after the last of them."""
    runs: list[_Run] = []
    sums: dict[_Node, float] = {}
    started: dict[_Node, float] = {}
    unplaced: set[_Node] = set()
    events = 0
    for event in document.value:
        if not isinstance(event, dict):
            continue
        duration = finite_number(event.get("dur"))
        if duration is None or duration < 0:
            continue
        if (node := _node(event)) is not None:
            events += 1
            sums[node] = sums.get(node, 0.0) + duration * _MS_PER_US
            at = finite_number(event.get("ts"))
            if at is None or node in started:
                unplaced.add(node)
            started.setdefault(node, at if at is not None else float(events))
        elif event.get("cat") == "Session" and event.get("name") == "model_run":
            first = min(started.values(), default=0.0)
            began = {node: at - first for node, at in started.items()}
            runs.append(_Run(duration * _MS_PER_US, sums, began, unplaced))
            sums, started, unplaced, events = {}, {}, set(), 0
    return runs, events


def _node(event: dict[str, Any]) -> _Node | None:
    name = event.get("name")
    if event.get("cat") != "Node" or not isinstance(name, str) or not name.endswith(SUFFIX):
        return None  # 1.16 also has …_fence_before and …_fence_after
    raw = event.get("args")
    arguments: dict[str, Any] = raw if isinstance(raw, dict) else {}
    texts = (arguments.get(key) for key in ("op_name", "provider", "node_index"))
    return _Node(
        name[: -len(SUFFIX)], *(text if isinstance(text, str) and text else None for text in texts)
    )


def _gpu_time(document: Document) -> list[Notice]:
    """Return the GPU time of kernels that a provider recorded, where it did.

    Providers that trace with CUPTI add events of the category ``Kernel``. Their link to nodes is
    not certain, so they are summed within runs, by time; the first of several runs is dropped.
    """
    timed = [
        (one, start, duration)
        for one in document.value
        if isinstance(one, dict)
        and (start := finite_number(one.get("ts"))) is not None
        and (duration := finite_number(one.get("dur"))) is not None
    ]
    spans = [
        (start, start + duration)
        for one, start, duration in timed
        if one.get("cat") == "Session" and one.get("name") == "model_run"
    ]
    spans = spans[1:] or spans
    kernels = [
        (str(one.get("name")), duration)
        for one, start, duration in timed
        if one.get("cat") == "Kernel" and any(low <= start <= high for low, high in spans)
    ]
    if not kernels or not spans:
        return []
    sums: dict[str, float] = {}
    for name, duration in kernels:
        sums[name] = sums.get(name, 0.0) + duration * _MS_PER_US / len(spans)
    total, longest = sum(sums.values()), max(sums, key=sums.__getitem__)
    spent = f"GPU time {total:.4g} ms a run in {len(kernels) / len(spans):.4g} kernels"
    most = f"most in {longest} ({sums[longest]:.4g} ms)"
    evidence = {"gpu_ms": total, "runs": len(spans), "kernels_ms": sums}
    return [Notice("I-GPU-EVENTS", f"{spent}, {most}; times of nodes are the host's", evidence)]


def _in_order(kept: list[_Run]) -> list[_Node]:
    """Nodes by when they start within the first run that has them."""
    offsets: dict[_Node, float] = {}
    for run in kept:
        for node, at in run.began_us.items():
            offsets.setdefault(node, at)
    return sorted(offsets, key=offsets.__getitem__)


def _starts_ms(kept: list[_Run]) -> dict[_Node, float]:
    """Return when each node began, from the first one on: the mean of the runs that have it."""
    unplaced = set().union(*(run.unplaced for run in kept))
    starts: dict[_Node, list[float]] = {}
    for run in kept:
        for node, at in run.began_us.items():
            starts.setdefault(node, []).append(at * _MS_PER_US)
    return {node: float(np.mean(some)) for node, some in starts.items() if node not in unplaced}


#: What the optimizer adds to a name: of a convolution in blocks of channels, of two nodes in one.
_BLOCKED, _FUSED = "_nchwc", "fused "

#: Types and shapes of the inputs and of the outputs of one node.
_Uses = tuple[Sequence[Tensor], Sequence[Tensor]]


def executed_plan(
    model: Path,
    profile: Document,
    name: str,
    original: str,
    shapes: Mapping[str, Sequence[int | str | None] | None] = MappingProxyType({}),
    *,
    has_rules: bool = False,
) -> plan.Plan:
    """Return the nodes as layers, with the tensors that flow between them.

    Args:
        model: As the profiled session wrote it.
        profile: Its profile. Shapes of nodes whose name is there for several are not known.
        original: The ONNX file that the session was made from.
        shapes: Declared shapes that vary, as `varying_shapes` returns them.
        has_rules: Whether the rules of `workspaces_of` are those of the kernels that ran.
    """
    graph = onnx_precision.load_without_weights(str(model)).graph
    weights = {one.name: _weight(one) for one in graph.initializer}
    events = [one for one in profile.value if isinstance(one, dict)]
    uses, names = _uses(events), _names(graph.node, events)
    tensors: dict[str, Tensor] = {}
    packed: Counter[str] = Counter()
    layers = tuple(
        _layer(at, node, names[at], weights, uses.get(names[at]), tensors, packed)
        for at, node in enumerate(graph.node)
    )
    readers = Counter(name for node in graph.node for name in reads(node))
    called = [(at, onnx_precision.node_name(one)) for at, one in enumerate(graph.node)]
    # what a node may have been called before the optimizer renamed it, and its outputs
    originals = called + [
        (at, original)
        for at, name in called
        for original in (
            *(name.removesuffix(_BLOCKED), name.removeprefix(_FUSED), name.rpartition("/")[0]),
            *(one.name for one in layers[at].outputs),
        )
    ]
    return plan.Plan(
        name=name,
        layers=with_onnx_nodes(layers, originals, original),
        io=tuple(
            plan.IOTensor(tensor=tensors.get(one.name) or Tensor(name=one.name), mode=mode)
            for mode, values in (("input", graph.input), ("output", graph.output))
            for one in values
            if one.name not in weights
        ),
        source_schema=plan.EXECUTED,
        extra={
            plan.SHAPES: dict(shapes),
            plan.PACKED: sorted(name for name, count in packed.items() if count == readers[name]),
            plan.WORKSPACES: workspaces_of(graph, names, tensors) if has_rules else {},
        },
    )


def _names(nodes: Sequence[Any], events: Iterable[Any]) -> list[str]:
    """Return what the profile calls each node; it makes up a name for a node without.

    A sequential session runs the nodes in the graph's order. Where the first run has another, it is
    not known which event is whose, and `node_name` names the nodes.
    """
    ran: list[tuple[float, str | None, str]] = []
    for event in takewhile(lambda one: one.get("name") != "model_run", events):
        if (node := _node(event)) is not None:
            at = finite_number(event.get("ts")) or 0.0
            while node.kind in CONTAINERS and ran and ran[-1][0] >= at:
                ran.pop()  # a node inside this one: it began later and ended before
            ran.append((at, node.kind, node.name))
    is_same = len(ran) == len(nodes) and all(
        kind == node.op_type and node.name in ("", name)
        for node, (_, kind, name) in zip(nodes, ran, strict=True)
    )
    return (
        [one[-1] for one in ran] if is_same else [onnx_precision.node_name(node) for node in nodes]
    )


def _weight(initializer: Any) -> Tensor:
    dtype = onnx_precision.DATA_TYPES.get(onnx_precision.type_name(initializer.data_type) or "")
    return Tensor(name=initializer.name, shape=tuple(initializer.dims), dtype=dtype)


def _layer(
    index: int,
    node: Any,
    name: str,
    weights: dict[str, Tensor],
    uses: _Uses | None,
    tensors: dict[str, Tensor],
    packed: Counter[str],
) -> plan.Layer:
    names = [one for one in node.input if one]
    results = [one for one in node.output if one]
    read = _named(names, uses[0] if uses else (), weights, packed if uses else None)
    written = _named(results, uses[1] if uses else (), weights)
    inside = [Tensor(name=one) for one in dict.fromkeys(reads(node)) if one not in names]
    for one in (*read, *written):
        tensors.setdefault(one.name, one)
    own = [
        _weight(one)
        for inner in onnx_precision.inner_graphs(node)
        for graph in onnx_precision.graphs_of(inner)
        for one in graph.initializer
    ]
    return plan.Layer(
        index=index,
        name=name,
        type=node.op_type,
        inputs=tuple(one for one in (*read, *inside) if one.name not in weights),
        outputs=tuple(written),
        weights=tuple(
            plan.Weights(role=one.name, dtype=one.dtype, count=one.elements)
            for one in (*(use for use in read if use.name in weights), *own)
        ),
    )


def _named(
    names: Sequence[str],
    uses: Sequence[Tensor],
    weights: dict[str, Tensor],
    packed: Counter[str] | None = None,
) -> list[Tensor]:
    """Join names and uses in their order; the profile leaves out weights that are packed anew.

    Args:
        packed: Counts the nodes that packed a weight.
    """
    left, joined, skipped = list(uses), [], []
    for name in names:
        own = weights.get(name)
        if left and (own is None or own.shape == left[0].shape):
            use = left.pop(0)
            own = own or Tensor(name=name, shape=use.shape, dtype=use.dtype)
        elif own is not None:
            skipped.append(name)
        joined.append(own or Tensor(name=name))
    if left or any(tensor.shape is None for tensor in joined):
        return [weights.get(name) or Tensor(name=name) for name in names]
    if packed is not None:
        packed.update(skipped)
    return joined


def _uses(events: Iterable[Any]) -> dict[str, _Uses]:
    """Return what the nodes read and wrote, by names that are one node's."""
    uses: dict[str, dict[Any, _Uses]] = {}
    for event in events:
        if (node := _node(event)) is not None:
            read, written = (event["args"].get(f"{end}_type_shape") for end in ("input", "output"))
            uses.setdefault(node.name, {})[node.node_index] = _typed(read), _typed(written)
    return {name: next(iter(of.values())) for name, of in uses.items() if len(of) == 1}


def _typed(values: Any) -> list[Tensor]:
    """Return ``[{"float": [1, 3, 224, 224]}]`` as tensors without names."""
    return [
        Tensor(name="", shape=tuple(shape), dtype=onnx_precision.DATA_TYPES.get(kind.upper()))
        for one in values or ()
        for kind, shape in one.items()
    ]
