"""Slice that converts the type.

What it looks for: a Slice whose input and output have different element types.

Why it costs time: the conversion hides a border between two precisions inside a copy.

What to do: let the layers on both sides run in one precision.

When it is wrong: the precision changes on purpose, for accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import converted
from enginescope.rules.view import LintView


def _check(view: LintView) -> Iterator[Found]:
    for layer in view.of_kinds(lambda one: one.type == "Slice" and one.reads is not one.writes):
        pair = converted(layer)
        if pair is not None:
            yield Found(
                layers=(layer.index,),
                message=f"converts {pair[0].value} to {pair[1].value}",
                evidence={"from": pair[0].value, "to": pair[1].value},
            )


RULE = Rule(
    code="PLAN105",
    name="slice-converts-type",
    summary="A Slice layer converts between element types",
    severity=Severity.WARNING,
    advice="let the layers on both sides run in one precision",
    doc=__doc__,
    check=_check,
    explains=("TIME204",),
)
