"""An engine plan, its layers and tensors; and profiles, the layers' times from outside the plan."""

import math
from enum import Enum
from functools import cached_property
from typing import Any, Literal

import numpy as np

from enginescope.core.record import Record
from enginescope.core.units import sum_known
from enginescope.judge.samples import Array, Interval
from enginescope.records.tensor import DataType, Tensor

#: Layer types that launch nothing: they stand in a plan, and take no time.
INERT_TYPES = frozenset({"Constant", "NoOp", "signal", "wait", "shape_call"})

#: `Plan.source_schema` of a graph that a runtime executed: ONNX Runtime, OpenVINO.
EXECUTED = "onnxruntime"
#: Field of such a plan's `extra`: declared shapes that vary, by tensor, with names of dimensions;
#: ``None`` where the runtime infers none.
SHAPES = "shapes"
#: Another: names of the weights that every reader keeps in an order of its own.
PACKED = "packed"
#: Another: bytes of a layer's temporary buffers, by its name, where its kernel's rule is known.
WORKSPACES = "workspaces"


class Weights(Record, frozen=True, kw_only=True, gc=False):
    """Constant values that a layer carries: kernel, bias, …

    Attributes:
        role: The field it came from: ``"Weights"``, ``"Bias"``, ``"ConvWeights"``, …
        count: Number of elements.
    """

    role: str
    dtype: DataType | None = None
    count: int | None = None

    @property
    def nbytes(self) -> int | None:
        """Bytes; ``None`` when type or count is not known."""
        if self.count is None or self.dtype is None or self.dtype.bits is None:
            return None
        return math.ceil(self.count * self.dtype.bits / 8)


class Layer(Record, frozen=True, kw_only=True, gc=False):
    """One layer of a plan.

    Attributes:
        index: Position in the source, from 0.
        name: As the source has it; names may repeat, `index` does not.
        type: What it computes: ``Convolution``, ``Reformat``, ``kgen``, … (``ParameterType`` if
            given, else ``LayerType``; ``"unknown"`` for a plan of names only).
        subtype: The implementation: ``CaskConvolution``, ``CudaDepthwiseConvolution``, …
        metadata: ``Metadata`` of the source, untouched.
        onnx_nodes: Names of the ONNX nodes it was made from, from `metadata`.
        profile_index: Optimization profile, when the plan has several.
        attributes: Every other field of the source, untouched; alike layers may share them.
    """

    index: int
    name: str
    type: str = "unknown"
    subtype: str | None = None
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    tactic_name: str | None = None
    tactic_value: str | None = None
    weights: tuple[Weights, ...] = ()
    metadata: str | None = None
    onnx_nodes: tuple[str, ...] = ()
    stream: int | None = None
    profile_index: int | None = None
    attributes: dict[str, Any] = {}

    @property
    def is_inert(self) -> bool:
        """Whether it launches nothing (constants, no-ops, stream signals, shape calls)."""
        return self.type in INERT_TYPES or self.subtype in INERT_TYPES

    @property
    def precision(self) -> DataType | None:
        """Type of the first input: the precision the layer computes in, as the field has it."""
        return self.inputs[0].dtype if self.inputs else None


class ProfileShapes(Record, frozen=True, kw_only=True):
    """The shapes one optimization profile allows for one tensor."""

    index: int
    min_shape: tuple[int, ...] | None = None
    opt_shape: tuple[int, ...] | None = None
    max_shape: tuple[int, ...] | None = None
    layout: str | None = None


class IOTensor(Record, frozen=True, kw_only=True):
    """An input or output of the engine ("binding" up to TensorRT 10).

    Attributes:
        mode: ``None`` when the source does not say and no layer touches it.
    """

    tensor: Tensor
    mode: str | None = None
    is_shape_tensor: bool | None = None
    profiles: tuple[ProfileShapes, ...] = ()


class Plan(Record, frozen=True, kw_only=True):
    """What an engine consists of.

    Attributes:
        layers: In the source's order, inert layers included.
        source_schema: ``"trt8-10"`` (joined format and type), ``"trt11"`` (``I/O Tensors``),
            ``"names-only"``, or `EXECUTED`.
        extra: Top-level fields beyond layers and tensors.
    """

    name: str
    layers: tuple[Layer, ...]
    io: tuple[IOTensor, ...] = ()
    source_schema: str = "trt8-10"
    extra: dict[str, Any] = {}

    @property
    def inputs(self) -> tuple[IOTensor, ...]:
        """Tensors the caller provides."""
        return tuple(one for one in self.io if one.mode == "input")

    @property
    def outputs(self) -> tuple[IOTensor, ...]:
        """Tensors the caller receives."""
        return tuple(one for one in self.io if one.mode == "output")

    @property
    def active_layers(self) -> tuple[Layer, ...]:
        """Layers that do work."""
        return tuple(layer for layer in self.layers if not layer.is_inert)


class Evidence(Enum):
    """Why layers are taken for each other's counterpart, the strongest first."""

    NAME = "name"
    ONNX_NODES = "onnx_nodes"
    STRUCTURE = "structure"
    NEIGHBOURHOOD = "neighbourhood"


class LayerPair(Record, frozen=True, kw_only=True, gc=False):
    """Layers of plan A and the layers of plan B that do the same work.

    Attributes:
        a, b: `Layer.index` of each, rising; never empty. One and one as a rule; one and several
            where a layer was split or several were fused; several and several where fusion drew its
            borders elsewhere.
        score: 0…1: how far the two sides agree. Comparable within one kind of evidence.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    evidence: Evidence
    score: float

    @property
    def is_group(self) -> bool:
        """Whether a side has more than one layer."""
        return len(self.a) > 1 or len(self.b) > 1


class Alignment(Record, frozen=True, kw_only=True):
    """Two plans, layer by layer.

    Every active layer of a plan is in exactly one pair, or unmatched; inert layers are in neither.

    Attributes:
        pairs: In the order of plan A.
        only_a, only_b: `Layer.index` of the unmatched active layers, rising.
    """

    plan_a: Plan
    plan_b: Plan
    pairs: tuple[LayerPair, ...]
    only_a: tuple[int, ...] = ()
    only_b: tuple[int, ...] = ()


#: Tools that write averages of the layers; their medians do not come from single iterations.
_AVERAGING = frozenset({"iprofiler", "torch", "torch-tensorrt", "trtexec"})
#: Batches of consecutive iterations, and the fewest iterations in one.
BATCHES, LEAST_IN_BATCH = 12, 5


class LayerTiming(Record, frozen=True, kw_only=True, gc=False):
    """Time of one layer or node in a profile.

    Attributes:
        index: Position in the profile, from 0; names may repeat.
        mean_ms, median_ms: Per iteration, as the profiler reported them.
        time_ms: The layer's time, which `analysis.claims.layer_time` decides; ``None`` as read.
        start_ms: Mean time since the first layer began, where the profile has it (ONNX Runtime) and
            the layer runs once per iteration.
        interval: 95 % interval of the median in ms; with an own time, of that: it reaches up to the
            kernel alone.
        raw_ms: The figure that the profiler reported, where `time_ms` is the layer's own.
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
    interval: Interval | None = None
    time_ms: float | None = None
    raw_ms: float | None = None
    total_ms: float | None = None
    share_pct: float | None = None
    kind: str | None = None
    provider: str | None = None
    is_container: bool = False
    start_ms: float | None = None


class Profile(Record, frozen=True, kw_only=True, dict=True):
    """Per-layer times from one profiling pass, never from the timed one.

    Attributes:
        source: ``"trtexec"``, ``"onnxruntime"``, ``"torch-tensorrt"``.
        part: What each entry of `layers` is.
        layers: In execution order.
        iterations: Runs the figures are taken over.
        whole_ms: Mean time of a whole iteration in that same pass, when it was seen.
        mode: ``"gated"``: the GPU began when all of an iteration had been enqueued. ``"trtexec"``:
            it began at once, and its waiting for the host is in the layers' times. ``"gpu"``: GPU
            times of kernels alone. ``"host"``: the host enqueued the layers in these times, and
            the GPU ran them later. ``None``: the source does not say.
        gated_ms, gated_interval: Median of whole iterations without the profiler, gated, kernels
            launched one by one; and its 95 % interval.
        batch_sums_ms: From `batch_sums`: how far the sum of the layers' medians varies. Empty: the
            source states averages only, or has too few iterations.
        profiler_ms: Estimate of what the profiler added to each layer, taken off its time.
        resolution_ms: How far the true time of a layer may lie below and above its median, because
            its clock has steps.
    """

    source: str
    layers: tuple[LayerTiming, ...]
    part: Literal["layer", "operator", "kernel"] = "layer"
    iterations: int | None = None
    whole_ms: float | None = None
    mode: Literal["gated", "trtexec", "gpu", "host"] | None = None
    gated_ms: float | None = None
    gated_interval: Interval | None = None
    batch_sums_ms: tuple[float, ...] = ()
    profiler_ms: float | None = None
    resolution_ms: tuple[float, float] = (0.0, 0.0)

    @cached_property
    def has_own_times(self) -> bool:
        """Whether the times are without the profiler's part."""
        return self.mode == "gpu" or any(layer.raw_ms is not None for layer in self.layers)

    @cached_property
    def statistic(self) -> Literal["median", "mean"]:
        """The figure of a layer: medians need the time of each iteration."""
        have_medians = all(one.median_ms is not None or one.mean_ms is None for one in self.layers)
        return "median" if self.source not in _AVERAGING and have_medians else "mean"

    @cached_property
    def sum_ms(self) -> float | None:
        """Sum of the layers' times, containers left out; ``None`` if no layer has one."""
        return sum_known(layer.time_ms for layer in self.layers if not layer.is_container)


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


class AttributedLayer(Record, frozen=True, kw_only=True, gc=False):
    """A plan's layer and its time; ``None`` where the profile has none."""

    layer: Layer
    timing: LayerTiming | None = None


class Attribution(Record, frozen=True, kw_only=True):
    """All layers of a plan, in order, joined with a profile; `unmatched` times have no layer."""

    layers: tuple[AttributedLayer, ...]
    unmatched: tuple[LayerTiming, ...] = ()
