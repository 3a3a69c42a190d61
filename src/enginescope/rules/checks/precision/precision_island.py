"""Precision island.

What it looks for: connected layers of a wider float type, in a plan that multiplies mostly in a
narrower type. Data is converted where it enters the island. It leaves through another conversion or
as an output of the engine.

Why it costs time: the layers move and compute more bytes. The tensors of their neighbors are
converted on the way in and out.

What to do: let the island run in the precision of its neighbors. Remove a precision constraint,
quantize the inputs, or change the types in the model of a strongly typed network. At stake are the
conversions, and the part of the layers' time that the wider type's bytes take.

When it is wrong: the island is there on purpose, for accuracy, as normalizations and sums are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from enginescope.analysis.layers.reformats import is_whole_part
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import DataType
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.checks.precision.quantized_float_output import spared_ms
from enginescope.rules.checks.precision.unfused_qdq import is_qdq
from enginescope.rules.tensor_cores import (
    CONVOLUTIONS,
    FLOATS,
    MATMULS,
    QUANTISED,
    REDUCED,
    REFORMATS,
    output_type,
)
from enginescope.rules.view import LintView

_CONVERSIONS = frozenset((*REFORMATS, "Scale", "Quantize", "Dequantize", "Cast"))
_LARGEST_PART = 0.5


def _check(view: LintView) -> Iterator[Found]:
    main = _main_type(view)
    if main is None:
        return
    wide = _wide_layers(view, main)
    for members in _components(view, wide):
        inside = set(members)
        before = _neighbors(view, members, inside, view.flow.before)
        after = _neighbors(view, members, inside, view.flow.after)
        entering = [
            member for member in before if _narrows(member.precision, output_type(member), main)
        ]
        leaving = [
            member for member in after if _narrows(output_type(member), member.precision, main)
        ]
        copies = [member.index for member in (*entering, *leaving) if member.type in _CONVERSIONS]
        copies += [member for member in members if view.layers[member].type in _CONVERSIONS]
        computing = [member for member in members if view.layers[member].type not in _CONVERSIONS]
        out = bool(leaving) or not inside.isdisjoint(view.flow.writes_output)
        if not (entering and out and copies and computing):
            continue
        if len(members) > _LARGEST_PART * len(view.active):
            continue
        feeding = [
            member for member in entering if member.precision in QUANTISED and not is_qdq(member)
        ]
        yield _found(view, computing, copies, feeding, main)


def _found(
    view: LintView, computing: list[int], copies: list[int], feeding: list[Layer], main: DataType
) -> Found:
    first, last = view.layers[computing[0]], view.layers[computing[-1]]
    dtype = first.precision
    assert dtype is not None
    stakes = view.part_ms(copies) | view.part_ms(computing, 1 - _bits(main) / _bits(dtype))
    for layer in feeding:
        stakes |= spared_ms(view, layer, main)
    count = "1 copy" if len(copies) == 1 else f"{len(copies)} copies"
    size = "1 layer" if len(computing) == 1 else f"{len(computing)} layers"
    return Found(
        layers=tuple(sorted((*computing, *copies, *(layer.index for layer in feeding)))),
        subject=first.name if first is last else f"{first.name} … {last.name}",
        message=f"is an island of {size} in {dtype.value} in a plan of {main.value}, "
        f"with {count} around it",
        evidence={"precision": dtype.value, "around": main.value, "layers": len(computing)},
        stakes_ms=stakes,
    )


def _main_type(view: LintView) -> DataType | None:
    """Return the type that most products of the plan read, if it is a reduced type."""
    products = view.of_types((*CONVOLUTIONS, *MATMULS))
    counts = Counter(product.precision for product in products if product.precision is not None)
    main = max(counts, key=lambda dtype: counts[dtype], default=None)
    return main if main in REDUCED else None


def _wide_layers(view: LintView, main: DataType) -> set[int]:
    """Return the layers that read and write only wider floats, including copies between them."""
    wide = frozenset(dtype for dtype in FLOATS if _bits(dtype) > _bits(main))
    layers = view.of_kinds(lambda kind: kind.reads in wide and kind.writes in wide)
    return {
        layer.index
        for layer in layers
        if not is_whole_part(layer) and all(output.dtype in wide for output in layer.outputs)
    }


def _components(view: LintView, wide: set[int]) -> Iterator[list[int]]:
    """Yield connected groups of wide layers, in the order of the plan."""
    left = set(wide)
    for start in sorted(wide):
        if start not in left:
            continue
        left.discard(start)
        members, waiting = [], [start]
        while waiting:
            at = waiting.pop()
            members.append(at)
            near = (*view.flow.before.get(at, ()), *view.flow.after.get(at, ()))
            found = [one for one in near if one in left]
            left.difference_update(found)
            waiting += found
        yield sorted(members)


def _neighbors(
    view: LintView, members: Iterable[int], inside: set[int], links: dict[int, tuple[int, ...]]
) -> list[Layer]:
    found = dict.fromkeys(one for member in members for one in links.get(member, ()))
    return [view.layers[one] for one in found if one not in inside]


def _narrows(narrow: DataType | None, wide: DataType | None, main: DataType) -> bool:
    """Whether a layer at the border has the plan's type or a narrower type on its outer side."""
    return narrow is not None and _bits(narrow) <= _bits(main) < _bits(wide)


def _bits(dtype: DataType | None) -> int:
    return (dtype.bits or 0) if dtype is not None else 0


RULE = Rule(
    code="PLAN117",
    name="precision-island",
    summary="Layers of a wider type stand between layers of a narrower one",
    severity=Severity.WARNING,
    advice="let these layers run in the precision around them",
    doc=__doc__,
    check=_check,
    explains=("PLAN103", "PLAN104", "PLAN105", "PLAN106", "PLAN109", "PLAN110", "TIME204"),
)
