"""Reformat that converts the type.

What it looks for: a Reformat whose input and output have different element types. The rule compares
types, not names: ``Half`` and ``FP16`` are one type. PLAN106 reports Reformats that stand for a
Quantize or Dequantize of the model. Some Reformats are symptoms of PLAN109, PLAN115 or PLAN117, and
appear there.

Why it costs time: a kernel reads and writes memory, and computes nothing. It marks a border between
two precisions.

What to do: let the layers on both sides run in one precision. At the engine's own inputs and
outputs, use the type of the first layer: ``--inputIOFormats`` and ``--outputIOFormats`` of trtexec.
The severity is then info.

When it is wrong: the precision changes on purpose, for accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import REFORMATS, converted
from enginescope.rules.view import LintView

_AT_BORDER = "give this input or output of the engine the type that its layers use"


def _check(view: LintView) -> Iterator[Found]:
    for layer in view.of_kinds(lambda one: one.type in REFORMATS and one.reads is not one.writes):
        pair = converted(layer)
        if pair is None or layer.attributes.get("Origin") == "QDQ":
            continue
        flow = view.flow
        border = layer.index in flow.reads_input or layer.index in flow.writes_output
        yield Found(
            layers=(layer.index,),
            message=f"converts {pair[0].value} to {pair[1].value}",
            evidence={
                "from": pair[0].value,
                "to": pair[1].value,
                "origin": layer.attributes.get("Origin"),
            },
            severity=Severity.INFO if border else None,
            advice=_AT_BORDER if border else None,
        )


RULE = Rule(
    code="PLAN104",
    name="reformat-converts-type",
    summary="A Reformat layer converts between element types",
    severity=Severity.WARNING,
    advice="let the layers on both sides run in one precision",
    doc=__doc__,
    check=_check,
    explains=("TIME204",),
)
