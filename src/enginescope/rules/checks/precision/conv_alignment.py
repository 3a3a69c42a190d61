"""Misaligned channels of a convolution.

What it looks for: a convolution whose input or output channels, per group, are not a multiple of
what tensor cores need. The multiple is 4 for FP32 (as TF32), 8 for FP16 and BF16, 16 for INT8 and
FP8, 32 for four bits. The rule skips depthwise convolutions.

Why it costs time: the GPU computes the rest of the last vector and discards it, or TensorRT uses a
slower tactic.

What to do: change the number of channels in the model to such a multiple.

When it is wrong: a layer may be too small to matter: look at the time at stake. At stake is the
padding's part of the product. Without tensor cores it is all of the layer's time, or its time
beyond the limit of a known GPU. The rule skips the model's interface: the channels of its inputs,
and those of a head, which are its classes, boxes or depth.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.records.plan.plan import Layer
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import (
    CONVOLUTIONS,
    alignment_of,
    channels,
    groups,
    is_depthwise,
    is_fed,
    is_head,
    lacks_tensor_cores,
    padding,
    uses_tensor_cores,
)
from enginescope.rules.view import LintView


def _check(view: LintView) -> Iterator[Found]:
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
            stakes_ms=_stakes(view, layer, odd, multiple),
        )


def _is_interface(view: LintView, layer: Layer, side: str) -> bool:
    if side == "output":
        return is_head(view, layer)
    length = channels(layer.inputs[0])
    return length is not None and is_fed(view, layer, length)


def _stakes(
    view: LintView, layer: Layer, odd: dict[str, int], multiple: int
) -> dict[int, float] | None:
    if uses_tensor_cores(layer.tactic_name) is False:
        return view.excess_ms(layer)
    return view.part_ms((layer.index,), padding(odd.values(), multiple))


RULE = Rule(
    code="PLAN102",
    name="misaligned-channels",
    summary="A convolution's channels do not fill the vectors of tensor cores",
    severity=Severity.WARNING,
    advice="round the channels in the model up to the multiple that the finding names",
    doc=__doc__,
    check=_check,
    explains=("PLAN101",),
)
