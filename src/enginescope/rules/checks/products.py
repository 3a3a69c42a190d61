"""Rules on convolutions and matrix products that do not use tensor cores well."""

from collections.abc import Iterator

from enginescope.analysis.roofline.layer_work import matrix_product_of
from enginescope.records.plan.plan import Layer
from enginescope.rules.base import Found, Severity, rule
from enginescope.rules.tensor_cores import (
    CONVOLUTIONS,
    MATMULS,
    REDUCED,
    alignment_of,
    channels,
    groups,
    is_depthwise,
    is_fed,
    is_head,
    is_matrix_vector,
    lacks_tensor_cores,
    padding,
    uses_tensor_cores,
)
from enginescope.rules.view import LintView

_FEW_CHANNELS = 32


@rule(
    "PLAN101",
    "conv-without-tensor-cores",
    "A convolution of reduced precision runs without tensor cores",
    advice="give the builder more workspace or a higher optimization level",
)
def conv_tensor_cores(view: LintView) -> Iterator[Found]:
    """Convolution without tensor cores.

    What it looks for: a convolution in FP16, BF16, INT8, FP8 or FP4 whose tactic does not use
    tensor cores, according to the tactic's name. Where the name does not say, the rule asks about
    depthwise layers and skips the others.

    Why it costs time: tensor cores compute several times faster than the ordinary units.

    What to do: give the builder more workspace and a higher optimization level. Build on the GPU
    that will run the engine.

    When it is wrong: memory limits a depthwise convolution and a matrix-vector product, so tensor
    cores do not help them. With few input channels the ordinary units may be as fast. For such
    layers the severity is info, with nothing at stake. For other layers on a known GPU, only the
    time beyond the layer's limit is at stake. The rule skips a layer that reads the few channels of
    the model's input.
    """
    if lacks_tensor_cores(view.device):
        return
    for layer in view.of_kinds(lambda one: one.type in CONVOLUTIONS and one.reads in REDUCED):
        depthwise, count = is_depthwise(layer), channels(layer.inputs[0])
        if count is not None and count < _FEW_CHANNELS and is_fed(view, layer, count):
            continue
        used = uses_tensor_cores(layer.tactic_name)
        if used or (used is None and not depthwise):
            continue
        reason = _reason(layer, depthwise=depthwise)
        message = "does not use tensor cores" + (f": {reason}" if reason else "")
        if used is None:
            told = "a tactic whose name does not say it" if layer.tactic_name else "no tactic"
            message = f"is depthwise and names {told}: does it use tensor cores?"
        yield Found(
            layers=(layer.index,),
            message=message,
            evidence={"tactic": layer.tactic_name, "subtype": layer.subtype},
            severity=Severity.INFO if reason else None,
            advice="count the kernel's tensor core instructions with Nsight Compute"
            if used is None
            else None,
            stakes_ms={} if reason else view.excess_ms(layer),
        )


def _reason(layer: Layer, *, depthwise: bool) -> str | None:
    if depthwise:
        return "depthwise"
    if is_matrix_vector(layer.tactic_name):
        return "a matrix-vector product"
    count = channels(layer.inputs[0])
    if count is not None and count // groups(layer) < _FEW_CHANNELS:
        return f"input channels {count // groups(layer)}"
    return None


@rule(
    "PLAN102",
    "misaligned-channels",
    "A convolution's channels do not fill the vectors of tensor cores",
    advice="round the channels in the model up to the multiple that the finding names",
    explains=("PLAN101",),
)
def conv_alignment(view: LintView) -> Iterator[Found]:
    """Misaligned channels of a convolution.

    What it looks for: a convolution whose input or output channels, per group, are not a multiple
    of what tensor cores need. The multiple is 4 for FP32 (as TF32), 8 for FP16 and BF16, 16 for
    INT8 and FP8, 32 for four bits. The rule skips depthwise convolutions.

    Why it costs time: the GPU computes the rest of the last vector and discards it, or TensorRT
    uses a slower tactic.

    What to do: change the number of channels in the model to such a multiple.

    When it is wrong: a layer may be too small to matter: look at the time at stake. At stake is the
    padding's part of the product. Without tensor cores it is all of the layer's time, or its time
    beyond the limit of a known GPU. The rule skips the model's interface: the channels of its
    inputs, and those of a head, which are its classes, boxes or depth.
    """
    if lacks_tensor_cores(view.device):
        return
    for layer in view.of_types(CONVOLUTIONS):
        multiple = alignment_of(layer.precision)
        if multiple is None or not layer.outputs or is_depthwise(layer):
            continue
        sides = {"input": channels(layer.inputs[0]), "output": channels(layer.outputs[0])}
        parts = groups(layer)
        each = {side: count // parts for side, count in sides.items() if count is not None}
        odd = {
            side: count
            for side, count in each.items()
            if count % multiple and not _is_interface(view, layer, side)
        }
        if not odd:
            continue
        words = " and ".join(f"{side} channels {count}" for side, count in odd.items())
        per = " per group" if parts > 1 else ""
        yield Found(
            layers=(layer.index,),
            message=f"has {words}{per}, not a multiple of {multiple}",
            evidence={"channels": each, "multiple": multiple, "groups": parts},
            stakes_ms=view.excess_ms(layer)
            if uses_tensor_cores(layer.tactic_name) is False
            else view.part_ms((layer.index,), padding(odd.values(), multiple)),
        )


def _is_interface(view: LintView, layer: Layer, side: str) -> bool:
    if side == "output":
        return is_head(view, layer)
    length = channels(layer.inputs[0])
    return length is not None and is_fed(view, layer, length)


@rule(
    "PLAN107",
    "gemm-without-tensor-cores",
    "A matrix product of reduced precision runs without tensor cores",
    advice="raise the builder's optimization level",
)
def gemm_tensor_cores(view: LintView) -> Iterator[Found]:
    """Matrix product without tensor cores.

    What it looks for: a gemm or MatMul layer in FP16, BF16, INT8, FP8 or FP4 without tensor cores,
    according to the tactic's name.

    Why it costs time: tensor cores compute several times faster than the ordinary units.

    What to do: raise the builder's optimization level. A larger batch turns a matrix-vector product
    into a matrix product.

    When it is wrong: a matrix-vector product has to read its weights once, and tensor cores do not
    make that faster. Its severity is info, with nothing at stake; TIME205 says what a larger batch
    saves. For other layers on a known GPU, only the time beyond the layer's limit is at stake.
    """
    if lacks_tensor_cores(view.device):
        return
    for layer in view.of_kinds(lambda one: one.type in MATMULS and one.reads in REDUCED):
        if uses_tensor_cores(layer.tactic_name) is not False:
            continue
        vector = is_matrix_vector(layer.tactic_name)
        yield Found(
            layers=(layer.index,),
            message="does not use tensor cores" + (": a matrix-vector product" if vector else ""),
            evidence={"tactic": layer.tactic_name},
            severity=Severity.INFO if vector else None,
            stakes_ms={} if vector else view.excess_ms(layer),
            advice="a larger batch reads the weights once for several rows" if vector else None,
        )


@rule(
    "PLAN108",
    "misaligned-gemm",
    "A matrix product's sides do not fill the vectors of tensor cores",
    advice="pad the matrices in the model to such a multiple",
    explains=("PLAN107",),
)
def gemm_alignment(view: LintView) -> Iterator[Found]:
    """Misaligned sides of a matrix product.

    What it looks for: a gemm or MatMul whose inner length K or output columns N are not a multiple
    of what tensor cores need. The multiple is 4 for FP32 (as TF32), 8 for FP16 and BF16, 16 for
    INT8 and FP8, 32 for four bits. The rule skips layers whose shapes do not clearly show K and N.

    Why it costs time: rows that do not begin at a multiple of 16 bytes load in smaller pieces. Or
    TensorRT uses a slower tactic.

    What to do: pad the matrices in the model: hidden sizes, and lengths of sequences.

    When it is wrong: a small product costs little: look at the time at stake. At stake is the
    padding's part of the product. Without tensor cores it is all of the layer's time, or its time
    beyond the limit of a known GPU. The rule skips the model's interface: a K that is an axis of
    its inputs, and the N of a head, such as its number of classes.
    """
    if lacks_tensor_cores(view.device):
        return
    for layer in view.of_types(MATMULS):
        multiple, product = alignment_of(layer.precision), matrix_product_of(layer)
        if multiple is None or product is None:
            continue
        sides = {"K": product.k, "N": product.n}
        odd = {name: length for name, length in sides.items() if length % multiple}
        if "K" in odd and is_fed(view, layer, product.k):
            del odd["K"]
        if "N" in odd and is_head(view, layer):
            del odd["N"]
        if odd:
            words = " and ".join(f"{name} = {length}" for name, length in odd.items())
            yield Found(
                layers=(layer.index,),
                message=f"has {words}, not a multiple of {multiple}",
                evidence={**sides, "multiple": multiple},
                stakes_ms=view.excess_ms(layer)
                if uses_tensor_cores(layer.tactic_name) is False
                else view.part_ms((layer.index,), padding(odd.values(), multiple)),
            )
