"""Reformats that one layer forces.

What it looks for: Reformats around one layer: two or more, a pair in which the second undoes the
first, or one that changes only the layout. The name of a Reformat says which layer it serves;
otherwise it serves the layer that reads it. Other rules report a single conversion of the type
(PLAN104), Q/DQ (PLAN106), copies of constants (PLAN115), and copies between equal formats
(PLAN116).

Why it costs time: each Reformat copies a tensor, because this layer needs another layout or
precision than its neighbors. TensorRT accepted these copies with the tactics that it could try.

What to do: let the layer run in the precision and layout of its neighbors. Give the builder more
workspace, remove a precision constraint from the layer, or use a plugin that reads that layout. At
the engine's own inputs and outputs, use the format of the layer: ``--inputIOFormats`` and
``--outputIOFormats`` of trtexec. The severity is then info.

When it is wrong: the layer gains more than the copies cost. Only the copies are at stake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import Tensor
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import REFORMATS
from enginescope.rules.view import LintView

_NAMED = re.compile(r"^Reformatting CopyNode for (?:In|Out)put Tensor \d+ (?:to|from) (.+)$")
_AT_BORDER = "give the engine the format that the layer takes (--inputIOFormats, --outputIOFormats)"


def _check(view: LintView) -> Iterator[Found]:
    reformats = [
        reformat
        for reformat in view.of_types(REFORMATS)
        if reformat.attributes.get("Origin") != "QDQ" and _changes(reformat) != ""
    ]
    pairs = {first.index: pair for first in reformats if (pair := _sandwich(view, first))}
    taken = {index for first, (_, last) in pairs.items() for index in (first, last)}
    for first, (index, last) in pairs.items():
        changes = _changes(view.layers[first])
        yield _found(
            view,
            index,
            (first, last),
            f"is between two Reformats that undo each other ({changes} and back)",
        )
    for (index, border), some in _by_layer(view, reformats, taken).items():
        if len(some) == 1 and not _changes_layout_alone(some[0]):
            continue
        count = "a Reformat" if len(some) == 1 else f"{len(some)} Reformats"
        changes = " and ".join(dict.fromkeys(map(_changes, some)))
        layers = tuple(reformat.index for reformat in some)
        yield _found(view, index, layers, f"forces {count} ({changes})", border=border)


def _found(
    view: LintView, index: int, layers: tuple[int, ...], message: str, *, border: bool = False
) -> Found:
    return Found(
        layers=layers,
        subject=view.layers[index].name,
        message=message,
        evidence={"layer": index, "reformats": [view.layers[layer].name for layer in layers]},
        severity=Severity.INFO if border else None,
        advice=_AT_BORDER if border else None,
    )


def _by_layer(
    view: LintView, reformats: list[Layer], taken: set[int]
) -> dict[tuple[int, bool], list[Layer]]:
    """Group the remaining Reformats by the layer that they serve, and mark those at the border."""
    named = {layer.name: layer.index for layer in view.active} if reformats else {}
    flow = view.flow
    served: dict[tuple[int, bool], list[Layer]] = {}
    for reformat in reformats:
        match = _NAMED.match(reformat.name)
        index = named.get(match[1]) if match else flow.only_after(reformat.index)
        if index is not None and reformat.index not in taken:
            border = reformat.index in flow.reads_input or reformat.index in flow.writes_output
            served.setdefault((index, border), []).append(reformat)
    return served


def _sandwich(view: LintView, first: Layer) -> tuple[int, int] | None:
    """Return the layer after a Reformat, and the next Reformat that undoes the first."""
    index = view.flow.only_after(first.index)
    if index is None or view.layers[index].type in REFORMATS:
        return None
    last_index = view.flow.only_after(index)
    last = view.layers[last_index] if last_index is not None else None
    if last is None or last.type not in REFORMATS or not (first.inputs and last.outputs):
        return None
    undone = _kind(first.inputs[0]) == _kind(last.outputs[0]) != (None, None)
    return (index, last.index) if undone else None


def _changes_layout_alone(layer: Layer) -> bool:
    """Whether a Reformat is known to change the layout and to keep the type."""
    sides = [_kind(one) for one in (*layer.inputs[:1], *layer.outputs[:1])]
    (before, after) = sides if len(sides) == 2 else ((None, None), (None, None))
    return None not in (*before, *after) and before[0] == after[0] and before != after


def _kind(tensor: Tensor) -> tuple[str | None, str | None]:
    dtype, layout = tensor.dtype, tensor.layout
    return (dtype.value if dtype else None, layout.name if layout else None)


def _changes(layer: Layer) -> str:
    """Return ``FP16 NHWC8 → FP32 NCHW``; empty if type and layout are known to stay."""
    sides = [_kind(one) for one in (*layer.inputs[:1], *layer.outputs[:1])]
    if len(sides) == 2 and sides[0] == sides[1]:
        return ""
    return " → ".join(" ".join(word for word in side if word) for side in sides)


RULE = Rule(
    code="PLAN109",
    name="reformat-sandwich",
    summary="One layer forces Reformats around it",
    severity=Severity.WARNING,
    advice="let the layer run in the precision and layout of its neighbors",
    doc=__doc__,
    check=_check,
    explains=("PLAN104", "TIME204"),
)
