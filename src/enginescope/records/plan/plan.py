"""An engine plan: layers and tensors, with no times inside.

Layers of two plans that do the same work.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

from enginescope.core.record import Record
from enginescope.records.tensor import DataType, Tensor

#: Layer types that launch nothing: they stand in a plan, and take no time.
INERT_TYPES = frozenset({"Constant", "NoOp", "signal", "wait", "shape_call"})


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
        onnx_nodes: Names of the ONNX nodes it was made from, from ``Metadata``.
        profile_index: Optimization profile, when the plan has several.
        attributes: Every other field of the source, untouched.
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
        source_schema: ``"trt8-10"`` (joined format and type), ``"trt11"`` (``I/O Tensors``), or
            ``"names-only"``.
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
