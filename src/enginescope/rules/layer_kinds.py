"""Kinds of layers and element types that several rules speak of."""

from __future__ import annotations

from enginescope.analysis.roofline.layer_work import MATRIX_TYPES
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import DataType, Tensor

CONVOLUTIONS = ("Convolution", "Deconvolution", "ConvActPool")
MATMULS = (*sorted(MATRIX_TYPES), "FullyConnected")
REFORMATS = ("Reformat", "MyelinReformat")

QUANTISED = frozenset({DataType.INT8, DataType.FP8, DataType.INT4, DataType.FP4})
HALF = frozenset({DataType.FP16, DataType.BF16})
FLOATS = HALF | {DataType.FP32, DataType.FP64}
REDUCED = QUANTISED | HALF


def output_type(layer: Layer) -> DataType | None:
    """Return the type of the first output."""
    return layer.outputs[0].dtype if layer.outputs else None


def converted(layer: Layer) -> tuple[DataType, DataType] | None:
    """Return the types that a layer converts from and to; ``None`` where it does not."""
    before, after = layer.precision, output_type(layer)
    if before is None or after is None or before is after:
        return None
    return before, after


def channels(tensor: Tensor) -> int | None:
    """Return the length of the channel axis, the second, of an image-like tensor."""
    if tensor.shape is None or len(tensor.shape) < 3:
        return None
    return tensor.shape[1]


def groups(layer: Layer) -> int:
    """Return a convolution's groups; 1 where the plan does not say."""
    value = layer.attributes.get("Groups", layer.attributes.get("ConvGroups"))
    return value if type(value) is int and value > 0 else 1


def is_depthwise(layer: Layer) -> bool:
    """Whether each channel is convolved alone."""
    if "Depthwise" in (layer.subtype or ""):
        return True
    count = channels(layer.inputs[0]) if layer.inputs else None
    return count is not None and count > 1 and groups(layer) == count
