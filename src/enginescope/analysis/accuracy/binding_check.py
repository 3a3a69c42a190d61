"""Whether two models take and give the same tensors: names, types, shapes.

Outputs whose names differ between a side and the reference: pairs by request, and suggestions.

An export tool may rename outputs. Names decide which outputs are compared, so a renamed output is
missing here and extra there. A suggestion compares every missing output with every extra output of
its shape, and pairs those whose values are nearest to each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Literal

import numpy as np

from enginescope.analysis.errors.channel_errors import flat_numbers, kind_of
from enginescope.analysis.errors.error_moments import ErrorMoments, moments_of
from enginescope.core.record import Record, replace
from enginescope.records.run.run import TensorValues
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
) -> Iterator[BindingDifference]:
    is_input = role == "input"
    ours, theirs = {one.name: one for one in side}, {one.name: one for one in reference}
    difference = partial(BindingDifference, role=role)
    for name, one in theirs.items():
        other = ours.get(name)
        if other is None:
            yield difference(name=name, what="missing", blocks=is_input)
            continue
        if one.dtype is not other.dtype:
            kinds = {kind_of(two.dtype) if two.dtype else None for two in (one, other)}
            yield difference(
                name=name,
                what="type",
                reference=_type(one.dtype),
                side=_type(other.dtype),
                blocks=is_input and len(kinds) > 1,
            )
        if not _fit(one.shape, other.shape):
            yield difference(
                name=name,
                what="shape",
                reference=dims_text(one.shape),
                side=dims_text(other.shape),
                blocks=is_input,
            )
    for name in ours:
        if name not in theirs:
            yield difference(name=name, what="extra", blocks=is_input)


def _fit(a: tuple[int | None, ...] | None, b: tuple[int | None, ...] | None) -> bool:
    """Whether some shape is both; one that is not known fits any."""
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(x == y or None in (x, y) for x, y in zip(a, b, strict=True))


def dims_text(shape: tuple[int | None, ...] | None) -> str:
    """Return ``?×3×224×224``."""
    if shape is None:
        return "no plain tensor"
    return "×".join("?" if one is None else str(one) for one in shape) or "a scalar"


def _type(dtype: DataType | None) -> str:
    return dtype.value if dtype else "no plain tensor"


#: Outputs of either role that are compared with each other; more would take too long.
_MOST = 16


class OutputPair(Record, frozen=True, kw_only=True):
    """An output of a side, and the reference's output that it is likely to be.

    Attributes:
        side, reference: Names.
        error_to_spread: RMSE between the two ÷ standard deviation of the reference; ``None``: it is
            constant.
    """

    side: str
    reference: str
    error_to_spread: float | None


def renamed(answers: Sequence[TensorValues], names: Mapping[str, str]) -> tuple[TensorValues, ...]:
    """Return a side's outputs under the reference's names, as `names` maps them."""
    return tuple(
        replace(answer, name=names[answer.name]) if answer.name in names else answer
        for answer in answers
    )


class OutputPairing:
    """Compares missing outputs with extra ones, sample by sample."""

    def __init__(self) -> None:
        self._moments: dict[tuple[str, str], ErrorMoments | None] = {}

    def add(self, reference: Sequence[TensorValues], candidate: Sequence[TensorValues]) -> None:
        """Add one sample's answers."""
        ours, theirs = {one.name for one in candidate}, {one.name for one in reference}
        missing = [one for one in reference if one.name not in ours][:_MOST]
        extra = [one for one in candidate if one.name not in theirs][:_MOST]
        for a, b in product(missing, extra):
            so_far, moments = self._moments.get((b.name, a.name), ErrorMoments()), _moments(a, b)
            # ``None``: of other shapes in one sample
            both = None if so_far is None or moments is None else so_far + moments
            self._moments[b.name, a.name] = both

    def pairs(self) -> tuple[OutputPair, ...]:
        """Return outputs of the same shape in all samples that are nearest to each other."""
        known = {key: one for key, one in self._moments.items() if one is not None}
        infinite = float("inf")
        distances = {key: infinite if one.rmse is None else one.rmse for key, one in known.items()}
        found = []
        for (side, reference), distance in distances.items():
            rivals = [
                other
                for key, other in distances.items()
                if key != (side, reference) and (key[0] == side or key[1] == reference)
            ]
            if distance < min(rivals, default=infinite):
                error = known[side, reference].error_to_spread
                found.append(OutputPair(side=side, reference=reference, error_to_spread=error))
        return tuple(found)


def _moments(a: TensorValues, b: TensorValues) -> ErrorMoments | None:
    """Return the moments of b − a; ``None`` where shapes or kinds differ."""
    kind = kind_of(a.dtype)
    if a.shape != b.shape or kind != kind_of(b.dtype) or kind not in ("float", "int", "bool"):
        return None
    x, y = (flat_numbers(one).astype(np.float64) for one in (a, b))
    both = np.isfinite(x) & np.isfinite(y)
    return moments_of(x[both], y[both])
