"""Convolution without tensor cores.

What it looks for: a convolution in FP16, BF16, INT8, FP8 or FP4 whose tactic does not use tensor
cores, according to the tactic's name. Where the name does not say, the rule asks about depthwise
layers and skips the others.

Why it costs time: tensor cores compute several times faster than the ordinary units.

What to do: give the builder more workspace and a higher optimization
level. Build on the GPU that will run the engine.

When it is wrong: memory limits a depthwise convolution and a matrix-vector product, so tensor cores
do not help them. With few input channels the ordinary units may be as fast. For such layers the
severity is info, with nothing at stake. For other layers on a known GPU, only the time beyond the
layer's limit is at stake. The rule skips a layer that reads the few channels of the model's input.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.records.plan.plan import Layer
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import (
    CONVOLUTIONS,
    REDUCED,
    channels,
    groups,
    is_depthwise,
    is_fed,
    is_matrix_vector,
    lacks_tensor_cores,
    uses_tensor_cores,
)
from enginescope.rules.view import LintView

_FEW_CHANNELS = 32
_COUNT = "count the kernel's tensor core instructions with Nsight Compute"


def _check(view: LintView) -> Iterator[Found]:
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
            advice=_COUNT if used is None else None,
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


RULE = Rule(
    code="PLAN101",
    name="conv-without-tensor-cores",
    summary="A convolution of reduced precision runs without tensor cores",
    severity=Severity.WARNING,
    advice="give the builder more workspace or a higher optimization level",
    doc=__doc__,
    check=_check,
)
