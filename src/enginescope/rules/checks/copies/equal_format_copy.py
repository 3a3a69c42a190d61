"""Copy between equal formats.

What it looks for: a Reformat whose input and output have the same type, layout and shape, where the
plan shows all three. PLAN115 reports copies of constants.

Why it costs time: the copy changes nothing, and it reads and writes the whole tensor.

What to do: find out why TensorRT copies the tensor. Often the model has an Identity or a Cast to
the same type: remove that node. A tensor may be an output of the engine that another layer reads:
give the output a copy of its own. Or a concatenation needs its parts in one buffer.

When it is wrong: the layouts differ in strides that the file does not show.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.records.plan.plan import Layer
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import REFORMATS
from enginescope.rules.view import LintView


def _copies_equal(layer: Layer) -> bool:
    """Whether a Reformat is known to change neither type, layout nor shape."""
    if layer.type not in REFORMATS or len(layer.inputs) != 1 or len(layer.outputs) != 1:
        return False
    before, after = layer.inputs[0], layer.outputs[0]
    formats = [(one.dtype, one.layout and one.layout.text, one.shape) for one in (before, after)]
    return formats[0] == formats[1] and None not in formats[0]


def _check(view: LintView) -> Iterator[Found]:
    for layer in view.of_kinds(lambda one: one.type in REFORMATS and one.reads is one.writes):
        if _copies_equal(layer) and view.times_ms.get(layer.index) != 0:
            yield Found(
                layers=(layer.index,),
                message="copies a tensor to the type, layout and shape that it has already",
                evidence={"bytes": layer.outputs[0].nbytes},
            )


RULE = Rule(
    code="PLAN116",
    name="equal-format-copy",
    summary="A Reformat copies between equal formats",
    severity=Severity.WARNING,
    advice="remove the Identity or Cast behind it, or the output that is read inside as well",
    doc=__doc__,
    check=_check,
    explains=("TIME204",),
)
