"""Reformats on both sides of one layer.

What it looks for: a layer between two Reformats of which the second undoes what the first did: its
output has the type and layout that the first one's input had, and nothing else reads in between.

Why it costs time: two copies of a tensor for one layer that wants another layout or precision.
TensorRT weighs this when it builds, with the tactics it could try.

What to do: let the layer run in the precision and layout of its neighbors: give the builder more
workspace, take a precision constraint off the layer, or use a plugin that takes that layout.

When it is wrong: the layer gains more than both copies cost. Only they are at stake.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import Tensor
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import REFORMATS
from enginescope.rules.view import LintView


def _check(view: LintView) -> Iterator[Found]:
    for first in view.of_types(REFORMATS):
        index = view.flow.only_after(first.index)
        if index is None or view.layers[index].type in REFORMATS:
            continue
        last_index = view.flow.only_after(index)
        last = view.layers[last_index] if last_index is not None else None
        if last is None or not _undoes(first, last):
            continue
        pair = (first.index, last.index)
        yield Found(
            layers=(first.index, index, last.index),
            subject=view.layers[index].name,
            message=f"is between two Reformats that undo each other ({_words(first)} and back)",
            evidence={"before": first.name, "after": last.name},
            stake_ms=view.sum_ms(pair),
        )


def _undoes(first: Layer, last: Layer) -> bool:
    if last.type not in REFORMATS or not (first.inputs and last.outputs):
        return False
    return _kind(first.inputs[0]) == _kind(last.outputs[0]) != (None, None)


def _kind(tensor: Tensor) -> tuple[str | None, str | None]:
    dtype, layout = tensor.dtype, tensor.layout
    return (dtype.value if dtype else None, layout.name if layout else None)


def _words(layer: Layer) -> str:
    sides = (layer.inputs[0], layer.outputs[0]) if layer.outputs else (layer.inputs[0],)
    return " → ".join(" ".join(word for word in _kind(side) if word) for side in sides)


RULE = Rule(
    code="PLAN109",
    name="reformat-sandwich",
    summary="One layer is between two Reformats that undo each other",
    severity=Severity.WARNING,
    advice="let the layer run in the precision and layout of its neighbors",
    doc=__doc__,
    check=_check,
)
