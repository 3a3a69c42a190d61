"""Shapes far from the profile's optimum.

What it looks for: an input with at least twice, or at most half, as many elements as the optimum of
its optimization profile. If several inputs are, the rule names the farthest.

Why it costs time: TensorRT chose the tactics for the optimum. Another tactic may be faster at other
shapes.

What to do: build with a profile whose optimum has your shapes, or with several profiles.

When it is wrong: you measured the edge of the range on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from enginescope.records.plan.plan import IOTensor
from enginescope.records.tensor import Tensor
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_FACTOR = 2.0


def _check(view: LintView) -> Iterator[Found]:
    fed = {one.name: one for one in view.fed}
    far = []
    for one in view.plan.inputs:
        given = fed.get(one.tensor.name)
        ratio = _ratio(given, _optimum(one, view.profile_index))
        if given is not None and ratio is not None and not 1 / _FACTOR < ratio < _FACTOR:
            far.append((abs(math.log(ratio)), one, given, ratio))
    if far:
        _, one, given, ratio = max(far, key=lambda found: found[0])
        best = _optimum(one, view.profile_index)
        yield Found(
            layers=(),
            subject=f"input {one.tensor.name}",
            message=f"was fed as {_text(given.shape)}, the profile's optimum is {_text(best)}",
            evidence={"elements_ratio": ratio, "inputs": len(far), "profile": view.profile_index},
        )


def _optimum(one: IOTensor, profile_index: int) -> tuple[int, ...] | None:
    return next((it.opt_shape for it in one.profiles if it.index == profile_index), None)


def _ratio(given: Tensor | None, best: tuple[int, ...] | None) -> float | None:
    elements = given.elements if given else None
    return elements / math.prod(best) if elements and best and math.prod(best) else None


def _text(shape: tuple[int | None, ...] | None) -> str:
    return "×".join("?" if dim is None else str(dim) for dim in shape or ())


RULE = Rule(
    code="PLAN114",
    name="far-from-optimum",
    summary="The engine ran with shapes far from its profile's optimum",
    severity=Severity.WARNING,
    advice="build with a profile whose optimum has the shapes in use",
    doc=__doc__,
    check=_check,
)
