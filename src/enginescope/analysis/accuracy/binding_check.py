"""Whether two models take and give the same tensors: names, types, shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from enginescope.analysis.errors.output_numbers import kind_of
from enginescope.core.record import Record
from enginescope.records.tensor import DataType, Tensor


class Bindings(Record, frozen=True, kw_only=True):
    """What a model takes and gives, as it declares it."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


class BindingDifference(Record, frozen=True, kw_only=True):
    """One thing in which two models' bindings differ.

    Attributes:
        what: ``missing``: this side lacks it; ``extra``: the reference does.
        blocks: Whether the same inputs cannot be put to both.
    """

    role: Literal["input", "output"]
    name: str
    what: Literal["missing", "extra", "type", "shape"]
    reference: str | None = None
    side: str | None = None
    blocks: bool = False


def binding_differences(reference: Bindings, side: Bindings) -> tuple[BindingDifference, ...]:
    """Return in what the bindings differ, inputs first."""
    return (
        *_differences("input", reference.inputs, side.inputs),
        *_differences("output", reference.outputs, side.outputs),
    )


def _differences(
    role: Literal["input", "output"], reference: Sequence[Tensor], side: Sequence[Tensor]
) -> list[BindingDifference]:
    is_input = role == "input"
    ours, theirs = {one.name: one for one in side}, {one.name: one for one in reference}
    made = []
    for name, one in theirs.items():
        other = ours.get(name)
        if other is None:
            made.append(BindingDifference(role=role, name=name, what="missing", blocks=is_input))
            continue
        if one.dtype is not other.dtype:
            kinds = {kind_of(two.dtype) if two.dtype else None for two in (one, other)}
            made.append(
                BindingDifference(
                    role=role,
                    name=name,
                    what="type",
                    reference=_type(one.dtype),
                    side=_type(other.dtype),
                    blocks=is_input and len(kinds) > 1,
                )
            )
        if not _fit(one.shape, other.shape):
            made.append(
                BindingDifference(
                    role=role,
                    name=name,
                    what="shape",
                    reference=dims_text(one.shape),
                    side=dims_text(other.shape),
                    blocks=is_input,
                )
            )
    extra = [name for name in ours if name not in theirs]
    made += [
        BindingDifference(role=role, name=name, what="extra", blocks=is_input) for name in extra
    ]
    return made


def _fit(a: tuple[int | None, ...] | None, b: tuple[int | None, ...] | None) -> bool:
    """Whether some shape is both; one that is not known fits any."""
    if a is None or b is None:
        return True
    if len(a) != len(b):
        return False
    return all(x == y or x is None or y is None for x, y in zip(a, b, strict=True))


def dims_text(shape: tuple[int | None, ...] | None) -> str:
    """Return ``?×3×224×224``."""
    if shape is None:
        return "no plain tensor"
    return "×".join("?" if one is None else str(one) for one in shape) or "a scalar"


def _type(dtype: DataType | None) -> str:
    return dtype.value if dtype else "no plain tensor"
