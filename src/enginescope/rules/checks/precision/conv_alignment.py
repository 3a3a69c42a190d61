"""Misaligned channels of a convolution.

What it looks for: a convolution whose input or output channels, per group, are not a multiple of
what tensor cores need. The multiple is 4 for FP32 (as TF32), 8 for FP16 and BF16, 16 for INT8 and
FP8, 32 for four bits. The rule skips depthwise convolutions.

Why it costs time: the GPU computes the rest of the last vector and discards it, or TensorRT uses a
slower tactic.

What to do: change the number of channels in the model to such a multiple.

When it is wrong: the first layer reads the three channels of an image, and the last layer has one
output per class. Both are often too small to matter: look at the time at stake. At stake is the
padding's part of the product. Without tensor cores it is all of the layer's time, or its time
beyond the limit of a known GPU. For the first layer the severity is info, with nothing at stake.
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
    lacks_tensor_cores,
    padding,
    uses_tensor_cores,
)
from enginescope.rules.view import LintView

_IMAGE_CHANNELS = 4


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
        odd = {side: count for side, count in each.items() if count % multiple}
        if not odd:
            continue
        first = list(odd) == ["input"] and odd["input"] <= _IMAGE_CHANNELS
        words = " and ".join(f"{side} channels {count}" for side, count in odd.items())
        per = " per group" if parts > 1 else ""
        yield Found(
            layers=(layer.index,),
            message=f"has {words}{per}, not a multiple of {multiple}",
            evidence={"channels": each, "multiple": multiple, "groups": parts},
            severity=Severity.INFO if first else None,
            stakes_ms={} if first else _stakes(view, layer, each, multiple),
        )


def _stakes(
    view: LintView, layer: Layer, each: dict[str, int], multiple: int
) -> dict[int, float] | None:
    if uses_tensor_cores(layer.tactic_name) is False:
        return view.excess_ms(layer)
    return view.part_ms((layer.index,), padding(each.values(), multiple))


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
