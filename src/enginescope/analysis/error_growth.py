"""How an error grows through a model, where it starts, and what that says of its cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from enginescope.analysis.bisection import Bisection
from enginescope.analysis.tensor_errors import TensorError
from enginescope.analysis.tensor_pairs import TensorPair
from enginescope.core.record import Record
from enginescope.model.notice import Notice

#: ``departs``: what it is computed from is within the limits, by far. ``grows``: little by little,
#: and here over the limit. ``overflow``: the reference holds more than the side's type can.
#: ``not-finite``: NaN or infinite for another reason. ``unlike``: another shape. ``within``: no
#: tensor is over its limits. ``gone``: with tensors marked as outputs the answers are right.
#: ``unpaired``: there is no tensor to look at.
Cause: TypeAlias = Literal[
    "departs", "grows", "overflow", "not-finite", "unlike", "within", "gone", "unpaired"
]
#: An operator whose error is at most so many times its inputs' has handed it on.
_HANDED_ON = 4.0


class GrowthStep(Record, frozen=True, kw_only=True):
    """A tensor on the way from the inputs to the outputs.

    Attributes
    ----------
    position : int
        Among all tensors that both sides have, from 0, in an order in which they can be computed.
    inputs : tuple of str
        The nearest tensors looked at that it is computed from.
    inputs_error : float or None
        The largest error of those; 0 where it is computed from the model's inputs alone, ``None``
        where one of them has no finite figure.
    inputs_over : bool
    reaches_output : bool
        Whether its error is handed on, all the way, to an output that is over its limits.
    own_error : float or None
        Its error where its maker is given the reference's values; infinite where that gives NaN or
        infinities; ``None``: not measured.
    """

    pair: TensorPair
    error: TensorError
    position: int
    inputs: tuple[str, ...] = ()
    inputs_error: float | None = 0.0
    inputs_over: bool = False
    reaches_output: bool = False
    own_error: float | None = None

    @property
    def tensor(self) -> str:
        """The tensor, by the reference's name."""
        return self.pair.reference

    @property
    def starts(self) -> bool:
        """Whether it is over its limits and nothing that it is computed from is."""
        return self.error.over is not None and not self.inputs_over


class Bisected(Record, frozen=True, kw_only=True):
    """Where a side departs from its reference.

    Attributes
    ----------
    side, reference : str
    tolerance : str
        The row whose limits tensors are held to.
    limit, peak_limit : float or None
        Most RMSE ÷ spread, and most error of an element ÷ spread.
    largest : float or None
        The largest finite number of the side's type, where it is a narrow one.
    samples : tuple of str
    steps : tuple of GrowthStep
        Of the tensors looked at.
    tensors : int
        Floating tensors that both sides compute.
    alone : int
        Those of the side that the reference has no counterpart of.
    rounds : int
        Times that a marked copy of the side was built or loaded.
    first : str or None
        The tensor at which the error starts.
    cause : str
    overflowing : str or None
        The tensor that the side's type cannot hold.
    optimisation : str
        How the marked copies were optimised, in words.
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
    optimisation: str = ""
    notices: tuple[Notice, ...] = ()

    def step(self, tensor: str | None) -> GrowthStep | None:
        """Return the step of a tensor."""
        return next((one for one in self.steps if one.tensor == tensor), None)

    @property
    def first_step(self) -> GrowthStep | None:
        """Where the error starts."""
        return self.step(self.first)

    @property
    def first_not_finite(self) -> GrowthStep | None:
        """The first tensor with NaN or infinities that the reference does not have."""
        return next((one for one in self.steps if one.error.odd), None)

    @property
    def starts(self) -> tuple[GrowthStep, ...]:
        """Every tensor over its limits that nothing over them leads to."""
        return tuple(one for one in self.steps if one.starts)

    @property
    def is_complete(self) -> bool:
        """Whether every tensor that both sides have was looked at."""
        return len(self.steps) >= self.tensors


def growth_of(
    pairs: Sequence[TensorPair], errors: Mapping[str, TensorError]
) -> tuple[GrowthStep, ...]:
    """Return the tensors looked at, in order, each with what it is computed from."""
    search = Bisection(pairs, most=len(pairs) or 1)
    seen = {name: one.level for name, one in errors.items()}
    reaching = search.reaching(seen)

    def steps() -> Iterator[GrowthStep]:
        for at, pair in enumerate(pairs):
            if pair.reference not in errors:
                continue
            inputs = search.nearest(pair.reference, seen)
            known = [errors[one].error for one in inputs if not errors[one].odd]
            yield GrowthStep(
                pair=pair,
                error=errors[pair.reference],
                position=at,
                inputs=inputs,
                inputs_error=max((one or 0.0 for one in known), default=0.0)
                if len(known) == len(inputs)
                else None,
                inputs_over=any(errors[one].over for one in inputs),
                reaches_output=pair.reference in reaching,
            )

    return tuple(steps())


def cause_of(
    steps: Sequence[GrowthStep], first: str | None, largest: float | None
) -> tuple[Cause, str | None]:
    """Return why the error starts where it does, and the tensor that overflows, if one does.

    Parameters
    ----------
    largest : float or None
        What the side's type can hold; ``None``: all that the reference's can.
    """
    by_name = {one.tensor: one for one in steps}
    if first is None:
        return "within" if steps else "unpaired", None
    step = by_name[first]
    if step.error.over == "shape":
        return "unlike", None
    # what a layer computes may be told before it is stored: then its reader is the first to show it
    for name in (*step.inputs, first):
        peak = by_name[name].error.reference_peak
        if largest is not None and peak is not None and peak > largest:
            return "overflow", name
    if step.error.over == "not-finite":
        return "not-finite", None
    error, before = step.error.error, step.inputs_error
    if before and error is not None and error <= _HANDED_ON * before:
        return "grows", None
    return "departs", None


def steepest(steps: Sequence[GrowthStep], count: int) -> tuple[GrowthStep, ...]:
    """Return the steps whose error is most beyond their inputs', the largest first.

    Where a node's own error was measured, by that.
    """
    finite = [one for one in steps if one.error.error is not None]

    def added(one: GrowthStep) -> float:
        if one.own_error is not None:
            return one.own_error
        return max((one.error.error or 0.0) - (one.inputs_error or 0.0), 0.0)

    return tuple(one for one in sorted(finite, key=added, reverse=True)[:count] if added(one) > 0)
