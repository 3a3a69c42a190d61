"""At which tensor an error starts, and what its cause is."""

from __future__ import annotations

import math

from enginescope.analysis.bisection.bisection import CARRIED, departure
from enginescope.analysis.bisection.error_growth import Bisected, Cause, GrowthStep
from enginescope.core.record import replace

#: An operator whose error is at most so many times its inputs' has passed it on.
_PASSED_ON = 4.0
_QUANTIZERS = frozenset({"QuantizeLinear", "DequantizeLinear"})


def started(found: Bisected) -> Bisected:
    """Return what was found with the tensor at which the error starts, and its cause.

    The start is the tensor whose node adds the largest error, of those whose error reaches an
    output that is over its limits; where no output is, of those over their own. Where nodes' own
    errors are known, these decide. A node that is wrong in FP32 comes before what the side's type
    alone makes wrong: the converted reference has that too.
    """
    found = replace(found, steps=_traced(found.steps))
    unstorable = _unstorable(found)
    loud = _harmful(found, unstorable)
    among = _candidates(found, unstorable - loud, loud)
    if found.cause == "gone" and not among:
        return found
    by_name = {step.tensor: step for step in found.steps}

    def added(step: GrowthStep) -> float:
        own = step.own_error
        if step.tensor in loud:
            own = step.stored_error if step.stored_error is not None else math.inf
        elif not loud.isdisjoint(step.inputs):  # wrong because of what it is given
            return 0.0
        if own is not None:
            # a runtime that computes in a wider type does not make all of a finite error
            seen = math.inf if step.error.odd else step.error.error or 0.0
            return min(own, seen) if step.reaches_output and math.isfinite(own) else own
        inputs = (by_name[name].error.share for name in step.inputs)
        return departure(step.error.share, max(inputs, default=0.0))

    first = max(among, key=added, default=None)
    cause, overflowing = cause_of(found, first)
    beside = None
    limit = found.limit or 0.0
    differing = [step for step in among if (step.model_error or 0.0) > limit]
    if differing and first not in differing:
        beside = first.tensor if first and cause == "overflow" else None
    if differing:
        first = max(differing, key=lambda step: step.model_error or 0.0)
        cause = "unlike" if first.error.over == "shape" else "departs"
        overflowing = overflowing if beside else None
    return replace(
        found,
        first=first.tensor if first else None,
        cause=cause,
        overflowing=overflowing,
        beside=beside,
    )


def _traced(steps: tuple[GrowthStep, ...]) -> tuple[GrowthStep, ...]:
    """Return the steps, with the trail of an error that no input carries and its node does not add.

    Such an error comes through an input whose large values hide it: scores after a mask of −10,000
    are added have the mask's scale.
    """
    by_name = {step.tensor: step for step in steps}
    reaching = {step.tensor for step in steps if step.reaches_output}
    for step in reversed(steps):
        if step.tensor not in reaching:
            continue
        carrying = {name for name in step.inputs if by_name[name].error.share > CARRIED}
        own, error = step.own_error, step.error.error
        if not carrying and own is not None and error and own * _PASSED_ON <= error:
            carrying = set(step.inputs)
        reaching |= carrying
    return tuple(replace(step, reaches_output=step.tensor in reaching) for step in steps)


def _candidates(found: Bisected, harmless: set[str], loud: set[str]) -> list[GrowthStep]:
    """Return the tensors of which one is the start, in order.

    Where no tensor's error reaches a failing output in the marked run: those over their limits
    there, and those whose node is wrong by itself.
    """
    reaching = {step.tensor for step in found.steps if step.reaches_output}
    for step in reversed(found.steps):  # a runtime may pass a value on before it stores it
        if step.tensor in reaching:
            reaching.update(loud.intersection(step.inputs))
    steps = [step for step in found.steps if step.tensor not in harmless]
    if reaching:
        return [step for step in steps if step.tensor in reaching]
    is_gone, limit = found.cause == "gone", found.limit or 0.0
    return [
        step
        for step in steps
        if step.tensor in loud
        or (step.error.over and not is_gone)
        or (step.own_error or 0.0) > limit
    ]


def _unstorable(found: Bisected) -> set[str]:
    """Return tensors whose right values the side's type cannot hold: too large, or too small."""
    limit = found.limit or 0.0
    beyond = {one.tensor for one in found.beyond if one.kind == "activation"}
    return beyond | {step.tensor for step in found.steps if (step.stored_error or 0.0) > limit}


def _harmful(found: Bisected, unstorable: set[str]) -> set[str]:
    """Return tensors that the side's type cannot hold and of which a reader is wrong.

    The others are harmless: numbers that stand for minus infinity in a mask become 0 in a softmax.
    """
    readers: dict[str, list[GrowthStep]] = {}
    for step in found.steps:
        for name in step.inputs:
            readers.setdefault(name, []).append(step)
    over = {step.tensor for step in found.steps if step.error.over} - unstorable
    harmful: set[str] = set()
    for step in reversed(found.steps):
        if step.tensor in unstorable:
            behind = readers.get(step.tensor, [])
            wrong = (
                one.tensor in harmful
                if one.tensor in unstorable
                else not _is_right(one, found.limit or 0.0, over)
                for one in behind
            )
            if not behind or any(wrong):
                harmful.add(step.tensor)
    return harmful


def _is_right(step: GrowthStep, limit: float, over: set[str]) -> bool:
    """Whether a node is right, given the reference's inputs in the side's type.

    Where its own error is not known: whether what it reads explains its error.
    """
    if step.own_error is not None:
        return step.own_error <= limit
    return not step.error.odd and (not step.error.over or not over.isdisjoint(step.inputs))


def cause_of(found: Bisected, step: GrowthStep | None) -> tuple[Cause, str | None]:
    """Return why the error starts at a step, and the tensor that overflows, if one does."""
    if step is None:
        return "within" if found.steps else "unpaired", None
    if step.error.over == "shape":
        return "unlike", None
    loud = {one.tensor for one in found.beyond if one.kind == "activation"}
    weights = (
        one.tensor for one in found.beyond if one.kind == "weight" and one.node == step.pair.node
    )
    # a value may be passed on before it is stored: then its reader is the first to show it
    overflowing = next((name for name in (*step.inputs, step.tensor) if name in loud), None)
    overflowing = next(weights, None) or overflowing
    if overflowing is not None:
        return "overflow", overflowing
    if step.error.over == "not-finite" or step.own_error == math.inf:
        return "not-finite", None
    if step.pair.operator in _QUANTIZERS:
        return "scale", None
    error, before = step.error.error, step.inputs_error
    own = step.own_error
    if own is not None:
        is_passed_on = own * _PASSED_ON <= min(error or 0.0, found.limit or math.inf)
    else:
        is_passed_on = bool(before) and (error or 0.0) <= _PASSED_ON * (before or 0.0) < math.inf
    return ("grows" if is_passed_on else "departs"), None
