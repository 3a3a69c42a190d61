"""Whether the outputs of the new stack are still right, and whether they drift."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from enginescope.analysis.errors.channel_errors import flat_numbers
from enginescope.analysis.validation.validation import ValidatedSide
from enginescope.core.record import Record
from enginescope.records.run.run import TensorValues
from enginescope.records.verdict.upgrade import OUTPUTS, UpgradeKind, UpgradeReason, UpgradeRow


class Drift(Record, frozen=True, kw_only=True):
    """Largest absolute difference between outputs, over all samples.

    Attributes:
        old, new: Between two processes of the same stack: its nondeterminism.
        between: Between the two stacks, over those processes whose outputs are nearest.
    """

    old: float
    new: float
    between: float


def output_gap(a: Sequence[TensorValues], b: Sequence[TensorValues]) -> float:
    """Return the largest absolute difference; infinite where names, shapes or NaNs differ."""
    ours, theirs = ({tensor.name: tensor for tensor in side} for side in (a, b))
    if ours.keys() != theirs.keys():
        return math.inf
    return max((_gap(tensor, theirs[name]) for name, tensor in ours.items()), default=0.0)


def _gap(a: TensorValues, b: TensorValues) -> float:
    if a.shape != b.shape or a.dtype != b.dtype:
        return math.inf
    if a.data.tobytes() == b.data.tobytes():
        return 0.0
    numbers = flat_numbers(a), flat_numbers(b)
    if any(one.dtype.kind not in "fiub" for one in numbers):  # texts have no distance
        return math.inf
    first, second = (one.astype(np.float64) for one in numbers)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore"):
        gaps = np.where(same, 0.0, np.abs(first - second))
    return math.inf if np.isnan(gaps).any() else float(gaps.max(initial=0.0))


def drift_of(gaps: Mapping[tuple[int, int], Sequence[float]], repeats: int) -> Drift:
    """Return the drift, from the gaps of each sample by pair of processes.

    Args:
        gaps: Process 0 … `repeats` − 1 are the old stack's, the others the new one's.
    """
    largest = {pair: max(values, default=0.0) for pair, values in gaps.items()}
    old = [gap for (a, b), gap in largest.items() if b < repeats]
    new = [gap for (a, b), gap in largest.items() if a >= repeats]
    between = [gap for (a, b), gap in largest.items() if a < repeats <= b]
    return Drift(old=max(old, default=0.0), new=max(new, default=0.0), between=min(between))


def output_row(
    old: Sequence[ValidatedSide], new: Sequence[ValidatedSide], drift: Drift | None
) -> UpgradeRow:
    """Return the verdict on the outputs.

    Args:
        old, new: Each fresh process of a stack, compared with the reference.
        drift: ``None`` where a stack has no outputs.
    """
    failed_old, failed_new = _failure(old), _failure(new)
    if failed_old and failed_new:
        kind, reason = UpgradeKind.WORSE, UpgradeReason.BOTH_FAIL
        message = f"both stacks fail against the reference; the new one: {failed_new}"
    elif failed_new:
        kind, reason = UpgradeKind.WORSE, UpgradeReason.OUTPUTS_FAIL
        message = f"only the new stack fails against the reference: {failed_new}"
    elif failed_old:
        kind, reason = UpgradeKind.BETTER, UpgradeReason.OLD_FAILS
        message = f"only the old stack fails against the reference: {failed_old}"
    else:
        assert drift is not None
        kind, (reason, message) = UpgradeKind.SAFE, _passes(drift, len(new))
    return UpgradeRow(
        metric=OUTPUTS,
        kind=kind,
        reason=reason.value,
        message=message,
        old=_error(old),
        new=_error(new),
    )


def _passes(drift: Drift, repeats: int) -> tuple[UpgradeReason, str]:
    own = max(drift.old, drift.new)
    if not drift.between and not own:
        return UpgradeReason.IDENTICAL, f"identical bits in all {2 * repeats} processes"
    if drift.between <= own:
        return UpgradeReason.WITHIN_REPEATS, (
            f"the stacks differ by {drift.between:.2g}, no more than processes of one stack "
            f"({own:.2g})"
        )
    return UpgradeReason.WITHIN_LIMITS, (
        f"the stacks differ by up to {drift.between:.2g}, processes of one stack by {own:.2g}; "
        "both pass against the reference"
    )


def _failure(sides: Sequence[ValidatedSide]) -> str | None:
    """Return why a stack fails: the first process that does, and how many do."""
    bad = [side for side in sides if not side.passes]
    if not bad:
        return None
    some = f" ({len(bad)} of {len(sides)} processes)" if len(bad) < len(sides) else ""
    return f"{why_side_fails(bad[0])}{some}"


def why_side_fails(side: ValidatedSide) -> str:
    """Return the first reason for which a side does not pass."""
    if side.failure:
        return side.failure
    if side.blocked:
        one = side.blocked[0]
        return f"{one.role} {one.name} is {one.side or 'missing'}, not {one.reference}"
    for output in side.diff.outputs if side.diff else ():
        if output.reasons:
            return f"{output.name}: {output.reasons[0].message}"
    return "it has no outputs"


def _error(sides: Sequence[ValidatedSide]) -> float | None:
    errors = [
        output.figures.max_abs_error
        for side in sides
        for output in (side.diff.outputs if side.diff else ())
        if output.figures is not None and output.figures.max_abs_error is not None
    ]
    return max(errors, default=None)
