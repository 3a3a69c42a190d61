"""Layer that only moves data.

What it looks for: Shuffle, Slice, Padding, Concatenation and similar layers. The rule also finds
fused kernels whose names consist of reshapes, transposes, slices, concatenations and moves alone.
It skips Reformats and layers without time.

Why it costs time: a kernel reads and writes memory, and computes nothing.

What to do: change the model so that it does not need the transposition or slice. Keep one axis
order throughout. Split the weights instead of the activations. Fold permutations into the weights
of the next layer.

When it is wrong: the data has to move, and there is little of it.
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
    """Whether a layer only moves data; Reformats do not count."""
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
