"""Which steps of an error's growth are worth a row: those around where it starts."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep, steepest

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
        overflowing = found.step(found.overflowing)
        _take(chosen, [first, *([overflowing] if overflowing else [])])
        behind = [step for step in found.steps if step.position > first.position]
        _take(chosen, [one for one in behind if one.reaches_output][:_BEHIND])
        _take(chosen, found.starts[:_STARTS])
    odd = found.first_not_finite
    _take(chosen, [odd] if odd else [])
    _take(chosen, [step for step in found.steps if step.pair.is_output][:_OUTPUTS])
    return tuple(sorted(chosen.values(), key=lambda one: one.position))


def _take(chosen: dict[str, GrowthStep], steps: Sequence[GrowthStep]) -> None:
    chosen.update({step.tensor: step for step in steps})
