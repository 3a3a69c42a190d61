"""Whether a tactic uses tensor cores according to its name, and the sizes that they need.

Names: cuDNN's carry the instruction's shape (``h16816cudnn``: half, 16×8×16), xmma's the word
``tensor16x8x16`` or, from Hopper, ``warpgroupsize``; ``simt``, ``scudnn``, ``int8x4`` (dp4a) and
``gemv`` are the ways without. xmma is the name of the kernel library, not of the instruction.
Sizes: NVIDIA, Matrix Multiplication Background User's Guide: 16 bytes in a row.

Kinds of layers and element types that several rules speak of.

Lengths that are the model's interface cannot be rounded up: the channels of an image are what the
application feeds, and the channels of a head are its classes, boxes or depth.
"""

import math
import re
from collections.abc import Iterable
from functools import lru_cache

from enginescope.analysis.layers.reformats import is_whole_part
from enginescope.analysis.roofline.layer_work import MATRIX_TYPES
from enginescope.analysis.roofline.matrix_product import groups_of
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import DataType, Tensor
from enginescope.rules.view import LintView

_WITHOUT = re.compile(
    r"simt|gemv|dp4a|int8x4|ffma|(?:^|_)[shd]cudnn|(?:^|_)[shd]gemm(?:_|$)|^sm[356]\d_",
    re.IGNORECASE,
)
_WITH = re.compile(
    r"tensor(?:\d+x\d+x\d+|op)|warpgroup|(?:^|_)[ihbqdu]mma|w?gmma|nvjet|xmma"
    r"|(?:^|_)[hsibdqef](?:884|8816|1684|1688|16816|16832|16864)",
    re.IGNORECASE,
)
_MULTIPLES = {
    DataType.FP32: 4,  # as TF32
    DataType.FP16: 8,
    DataType.BF16: 8,
    DataType.INT8: 16,
    DataType.FP8: 16,
    DataType.INT4: 32,
    DataType.FP4: 32,
}


@lru_cache(maxsize=4096)
def uses_tensor_cores(tactic: str | None) -> bool | None:
    """Return whether a tactic uses tensor cores; ``None`` if its name does not say."""
    if tactic is None or tactic.startswith("__myl"):
        return None
    if _WITHOUT.search(tactic):
        return None if re.search(r"(?:[hi]mma|HMMA|IMMA)(?![a-z])", tactic) else False
    return True if _WITH.search(tactic) else None


def is_matrix_vector(tactic: str | None) -> bool:
    return tactic is not None and "gemv" in tactic.lower()


def alignment_of(dtype: DataType | None) -> int | None:
    """Return the multiple that channels and matrix sides should have; ``None``: unknown."""
    return _MULTIPLES.get(dtype) if dtype is not None else None


def lacks_tensor_cores(device: Device | None) -> bool:
    """Whether a GPU is known to lack tensor cores, as GPUs before Volta do."""
    capability = device.compute_capability if device else None
    major = capability.partition(".")[0] if capability else ""
    return major.isdecimal() and int(major) < 7


CONVOLUTIONS = ("Convolution", "Deconvolution", "ConvActPool", "Conv", "FusedConv", "ConvTranspose")
MATMULS = (*sorted(MATRIX_TYPES), "FullyConnected", "FusedMatMul", "FusedGemm")

QUANTISED = frozenset({DataType.INT8, DataType.FP8, DataType.INT4, DataType.FP4})
HALF = frozenset({DataType.FP16, DataType.BF16})
FLOATS = HALF | {DataType.FP32, DataType.FP64}
REDUCED = QUANTISED | HALF


def output_type(layer: Layer) -> DataType | None:
    return layer.outputs[0].dtype if layer.outputs else None


def converted(layer: Layer) -> tuple[DataType, DataType] | None:
    """Return the types that a layer converts from and to; ``None`` if it converts none."""
    before, after = layer.precision, output_type(layer)
    if before is None or after is None or before is after:
        return None
    return before, after


def padding(lengths: Iterable[int], multiple: int) -> float:
    """Return the part of a product that is padding if its sides are padded to `multiple`, 0…1."""
    whole = 1.0
    for length in lengths:
        whole *= length / (math.ceil(length / multiple) * multiple or 1)
    return 1 - whole


def channels(tensor: Tensor) -> int | None:
    """Return the length of the channel axis (the second) of an image-like tensor."""
    return None if tensor.shape is None or len(tensor.shape) < 3 else tensor.shape[1]


def groups(layer: Layer) -> int:
    """Return the groups of a convolution; 1 if the plan does not say."""
    return groups_of(layer) or 1


def is_depthwise(layer: Layer) -> bool:
    """Whether the convolution has one group per channel."""
    if "Depthwise" in (layer.subtype or ""):
        return True
    count = channels(layer.inputs[0]) if layer.inputs else None
    return count is not None and count > 1 and groups(layer) == count


def is_fed(view: LintView, layer: Layer, length: int) -> bool:
    """Whether a layer reads an axis of an input of the engine, of `length`.

    Layers that are not products may lie between, if they keep the length.
    """
    return layer.index in _interface(view, length)


def is_head(view: LintView, layer: Layer) -> bool:
    """Whether a layer writes an output of the engine, with no other product between."""
    return layer.index in _interface(view, None)


def _interface(view: LintView, length: int | None) -> set[int]:
    """Return the layers that `is_fed` holds of, without a length `is_head`: one walk for all."""
    if length not in view.interface:
        flow = view.flow
        ends, next_to = (
            (flow.writes_output, flow.before) if length is None else (flow.reads_input, flow.after)
        )
        found, waiting = set(ends), list(ends)
        while waiting:
            at = waiting.pop()
            layer = view.layers[at]
            keeps = length is None or any(length in (one.shape or ()) for one in layer.inputs)
            is_product = layer.type in CONVOLUTIONS or layer.type in MATMULS
            if keeps and not is_product and not is_whole_part(layer):
                new = [one for one in next_to.get(at, ()) if one not in found]
                found.update(new)
                waiting += new
        view.interface[length] = found
    return view.interface[length]
