"""How an error grows through a model, where it starts, and what that says of its cause."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from enginescope.analysis.bisection.bisection import Bisection
from enginescope.analysis.bisection.tensor_errors import TensorError
from enginescope.analysis.bisection.tensor_pairs import TensorPair
from enginescope.core.record import Record
from enginescope.judge.notice import Notice

#: ``departs``: its error is far larger than its inputs'. ``grows``: little by little, and nowhere
#: much. ``overflow``: the reference holds more than the side's type can. ``scale``: a quantizer's
#: scale or zero point does not fit. ``not-finite``: NaN or infinite for another reason. ``unlike``:
#: another shape. ``within``: no tensor is over its limits. ``gone``: with tensors marked as outputs
#: the outputs are right. ``unpaired``: there is no tensor to look at.
Cause: TypeAlias = Literal[
    "departs", "grows", "overflow", "scale", "not-finite", "unlike", "within", "gone", "unpaired"
]


class BeyondRange(Record, frozen=True, kw_only=True):
    """A tensor of the reference that the side's type cannot hold.

    Attributes:
        node, operator: What reads the weight, or computes the activation, in the side.
        peak: Largest magnitude in the reference.
    """

    tensor: str
    kind: Literal["weight", "activation"]
    node: str
    operator: str
    peak: float


class GrowthStep(Record, frozen=True, kw_only=True):
    """A tensor on the way from the inputs to the outputs.

    Attributes:
        position: Among all tensors that both sides have, from 0, in an order in which they can be
            computed.
        inputs: The nearest tensors looked at that it is computed from.
        inputs_error: The largest error of those; 0 where it is computed from the model's inputs
            alone, infinite where one of them is not finite, ``None`` where one has no figure.
        not_compared: Tensors between it and those, or the model's inputs.
        reaches_output: Whether its error is handed on, all the way, to an output that is over its
            limits.
        stored_error: The error of the reference's own values, stored in the side's type; ``None``:
            not known.
        own_error: Its error where its maker is given the reference's values; infinite where that
            gives NaN or infinities; ``None``: not measured.
        model_error: The same in FP32, where another model than the reference's was converted.
    """

    pair: TensorPair
    error: TensorError
    position: int
    inputs: tuple[str, ...] = ()
    inputs_error: float | None = 0.0
    inputs_over: bool = False
    not_compared: tuple[str, ...] = ()
    reaches_output: bool = False
    stored_error: float | None = None
    own_error: float | None = None
    model_error: float | None = None

    @property
    def tensor(self) -> str:
        """The pair's name: the reference's name of the tensor, if it has a tensor of its own."""
        return self.pair.tensor

    @property
    def starts(self) -> bool:
        """Whether it is over its limits and nothing that it is computed from is."""
        return self.error.over is not None and not self.inputs_over

    @property
    def departure(self) -> float:
        """What its node adds: its own error where that is measured, else that beyond its inputs'.

        Infinite where the node makes NaN or infinities.
        """
        if self.own_error is not None:
            return self.own_error
        if self.error.odd or self.error.over == "shape":
            return math.inf if self.inputs_error != math.inf else 0.0
        return max((self.error.error or 0.0) - (self.inputs_error or 0.0), 0.0)


class Bisected(Record, frozen=True, kw_only=True):
    """Where a side departs from its reference.

    Attributes:
        tolerance: The row whose limits tensors are checked against.
        limit, peak_limit: Most RMSE ÷ spread, and most error of an element ÷ spread.
        largest: The largest finite number of the side's type, where it is a narrow one.
        steps: Of the tensors looked at.
        tensors: Floating tensors that both sides compute.
        alone: Those of the side that the reference has no counterpart of.
        rounds: Times that a marked copy of the side was built or loaded.
        first: The tensor at which the error starts.
        overflowing: The tensor that the side's type cannot hold.
        beside: The tensor of another start: an overflow that the converted reference has too.
        beyond: Weights and activations that the side's type cannot hold, from the reference's run
            alone.
        not_compared: Tensors that the side or the reference did not return.
        optimisation: How the marked copies were optimized, in words.
    """

    side: str
    reference: str
    tolerance: str
    limit: float | None
    peak_limit: float | None
    largest: float | None = None
    samples: tuple[str, ...] = ()
    steps: tuple[GrowthStep, ...] = ()
    tensors: int = 0
    alone: int = 0
    rounds: int = 0
    first: str | None = None
    cause: Cause = "within"
    overflowing: str | None = None
    beside: str | None = None
    beyond: tuple[BeyondRange, ...] = ()
    not_compared: tuple[str, ...] = ()
    optimisation: str = ""
    notices: tuple[Notice, ...] = ()

    def step(self, tensor: str | None) -> GrowthStep | None:
        """Return the step of a tensor."""
        return next((step for step in self.steps if step.tensor == tensor), None)

    @property
    def first_step(self) -> GrowthStep | None:
        """Where the error starts."""
        return self.step(self.first)

    @property
    def first_not_finite(self) -> GrowthStep | None:
        """The first tensor with NaN or infinities that the reference does not have."""
        return next((step for step in self.steps if step.error.odd), None)

    @property
    def starts(self) -> tuple[GrowthStep, ...]:
        """Every tensor over its limits that nothing over them leads to."""
        return tuple(step for step in self.steps if step.starts)

    @property
    def is_complete(self) -> bool:
        """Whether every tensor that both sides have was looked at."""
        return len(self.steps) >= self.tensors and not self.not_compared


def growth_of(
    pairs: Sequence[TensorPair], errors: Mapping[str, TensorError]
) -> tuple[GrowthStep, ...]:
    """Return the tensors that were compared, in order, each with what it is computed from."""
    search = Bisection(pairs, most=len(pairs) or 1)
    seen = {name: error.share for name, error in errors.items()}
    reaching = search.reaching(seen)
    by_name = {pair.tensor: pair for pair in pairs}

    def steps() -> Iterator[GrowthStep]:
        for at, pair in enumerate(pairs):
            if pair.tensor not in errors:
                continue
            inputs = search.nearest(pair.tensor, seen)
            passed = search.passed(pair.tensor, seen)
            between = [*pair.unpaired]
            for name in passed:
                between += [*by_name[name].unpaired, by_name[name].candidate]
            yield GrowthStep(
                pair=pair,
                error=errors[pair.tensor],
                position=at,
                inputs=inputs,
                inputs_error=_largest([errors[name] for name in inputs], alone=not between),
                inputs_over=any(errors[name].over for name in inputs),
                not_compared=tuple(dict.fromkeys(between)),
                reaches_output=pair.tensor in reaching,
            )

    return tuple(steps())


def _largest(inputs: Sequence[TensorError], *, alone: bool) -> float | None:
    """Return the largest error of what a tensor is computed from, as `GrowthStep` has it."""
    if not inputs:
        return 0.0 if alone else None
    known = [error for one in inputs if (error := one.figure) is not None]
    return max(known) if len(known) == len(inputs) else None


def steepest(steps: Sequence[GrowthStep], count: int) -> tuple[GrowthStep, ...]:
    """Return the steps whose nodes add most to the error, the largest first."""
    finite = [step for step in steps if step.error.error is not None and step.departure > 0]
    return tuple(sorted(finite, key=lambda step: step.departure, reverse=True)[:count])


_INPUTS = 3
_BEHIND = 4
_STARTS = 4
_OUTPUTS = 3
_STEEPEST = 4


def telling_steps(found: Bisected) -> tuple[GrowthStep, ...]:
    """Return the start with its inputs and what follows it, other starts, and the outputs.

    Where there is no start, the steps that add most.
    """
    chosen: dict[str, GrowthStep] = {}
    first = found.first_step
    if first is None:
        _take(chosen, steepest(found.steps, _STEEPEST))
    else:
        by_name = {step.tensor: step for step in found.steps}
        _take(chosen, [by_name[name] for name in first.inputs[-_INPUTS:]])
        others = (found.step(found.overflowing), found.step(found.beside))
        _take(chosen, [first, *(one for one in others if one)])
        behind = [step for step in found.steps if step.position > first.position]
        _take(chosen, [one for one in behind if one.reaches_output][:_BEHIND])
        _take(chosen, found.starts[:_STARTS])
    odd = found.first_not_finite
    _take(chosen, [odd] if odd else [])
    _take(chosen, [step for step in found.steps if step.pair.is_output][:_OUTPUTS])
    return tuple(sorted(chosen.values(), key=lambda one: one.position))


def _take(chosen: dict[str, GrowthStep], steps: Sequence[GrowthStep]) -> None:
    chosen.update({step.tensor: step for step in steps})
