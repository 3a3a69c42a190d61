"""Quantize or Dequantize that was not fused.

What it looks for: a layer of its own that goes from floats to INT8, FP8 or four bits or back: a
Scale, Quantize or Dequantize layer, or a Reformat whose origin is ``QDQ``.

Why it costs time: TensorRT fuses Q/DQ into the layers around it where their placement allows; one
that is left reads and writes the whole tensor.

What to do: move the Q/DQ pair to where it fuses: Q right before the inputs of convolutions and
matrix products, on both inputs of a residual addition, and behind activations.

When it is wrong: the engine's own input has to be quantized once, unless it is fed quantized:
reported as info.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.records.plan.plan import Layer
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import QUANTISED, REFORMATS, converted
from enginescope.rules.view import LintView

_OWN_LAYERS = ("Scale", "Quantize", "Dequantize", "QuantizeLinear", "DequantizeLinear")
_KINDS = frozenset((*_OWN_LAYERS, *REFORMATS))


def _check(view: LintView) -> Iterator[Found]:
    for layer in view.of_kinds(lambda one: one.type in _KINDS and one.reads is not one.writes):
        pair = converted(layer)
        if pair is None or not _is_qdq(layer):
            continue
        role = "Quantize" if pair[1] in QUANTISED else "Dequantize"
        at_input = role == "Quantize" and layer.index in view.flow.reads_input
        yield Found(
            layers=(layer.index,),
            message=f"is a {role} on its own, {pair[0].value} to {pair[1].value}"
            + (", of the engine's input" if at_input else ""),
            evidence={"role": role, "from": pair[0].value, "to": pair[1].value},
            severity=Severity.INFO if at_input else None,
            advice="feed the input quantized, if its source can" if at_input else None,
        )


def _is_qdq(layer: Layer) -> bool:
    if layer.type in REFORMATS and layer.attributes.get("Origin") != "QDQ":
        return False
    before, after = converted(layer) or (None, None)
    return (before in QUANTISED) != (after in QUANTISED)


RULE = Rule(
    code="PLAN106",
    name="unfused-qdq",
    summary="A Quantize or Dequantize runs as a separate layer",
    severity=Severity.WARNING,
    advice="place the Q/DQ pair where it fuses with the layers around it",
    doc=__doc__,
    check=_check,
)
