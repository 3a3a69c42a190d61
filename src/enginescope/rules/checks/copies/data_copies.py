"""Layer that only moves data.

What it looks for: Shuffle, Slice, Padding, Concatenation and such layers, and fused kernels whose
name consists of reshapes, transposes, slices, concatenations and moves alone. Layers at time 0 are
left out, as are Reformats.

Why it costs time: a kernel and a round trip through memory that compute nothing.

What to do: change the model so that the transposition or slice is not needed: keep one axis order
throughout, split the weights rather than the activations, fold permutations into the weights
beside.

When it is wrong: the data has to be moved, and it is little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from enginescope.records.plan.plan import Layer
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_MOVES = frozenset({"Shuffle", "Slice", "Padding", "Concatenation", "Concat", "Gather", "Copy"})
_WORDS = frozenset(
    {
        *("Res", "Resh", "Reshape", "Tra", "Tran", "Transpose", "Mov", "Move", "Sli", "Slic"),
        *("Slice", "Con", "Conc", "Concat", "Rep", "Repl", "Cop", "Copy", "Pad", "Padd"),
    }
)
_KERNEL = re.compile(r"^__myl_((?:[A-Z][a-z]+)+)(?:_|$)")
_WORD = re.compile(r"[A-Z][a-z]+")


def moves_only(layer: Layer) -> bool:
    """Whether a layer computes nothing, Reformats aside."""
    if layer.type in _MOVES:
        return True
    if layer.type != "kgen":
        return False
    match = _KERNEL.match(layer.tactic_name or layer.name)
    return match is not None and all(word in _WORDS for word in _WORD.findall(match[1]))


def _check(view: LintView) -> Iterator[Found]:
    times = view.times_ms
    for layer in view.of_types((*_MOVES, "kgen")):
        if moves_only(layer) and times.get(layer.index) != 0:
            size = layer.outputs[0].nbytes if layer.outputs else None
            yield Found(
                layers=(layer.index,),
                message=f"only moves data ({layer.type})",
                evidence={"type": layer.type, "output_bytes": size},
            )


RULE = Rule(
    code="PLAN111",
    name="data-copies",
    summary="A layer only moves data",
    severity=Severity.INFO,
    advice="change the model so that the transposition, slice or concatenation is not needed",
    doc=__doc__,
    check=_check,
)
