"""Tensors with values, and the ways in which answers go wrong."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.accuracy.output_diff import OutputReason, SideDiff
from enginescope.analysis.errors.output_tolerance import (
    Tolerance,
    ToleranceOption,
    ToleranceRequest,
    tolerance_for,
    tolerance_named,
)
from enginescope.core.record import replace
from enginescope.formats.tensors.tensor_files import tensor_of
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType


def tensor(values: Any, name: str = "y", dtype: DataType | None = None) -> TensorValues:
    found = tensor_of(name, np.asarray(values))
    return found if dtype is None else replace(found, dtype=dtype)


def limits(row: str = "fp32", **values: float) -> Tolerance:
    """Return a row with a user's own `rtol`, `atol` or `mismatch_pct`."""
    request = {name: (ToleranceOption(output=None, value=v),) for name, v in values.items()}
    return tolerance_for("y", tolerance_named(row), ToleranceRequest(**request))


def side(
    reference: Sequence[Any],
    candidate: Sequence[Any],
    tolerance: str | Tolerance,
    *orders: Sequence[Any],
    allow_nothing: bool = False,
) -> SideDiff:
    """Return the comparison of one output over samples, or of tuples of them.

    Args:
        orders: The samples of the rounded reference, for each way to round.
    """
    row = tolerance_named(tolerance) if isinstance(tolerance, str) else tolerance
    comparison = SideComparison("B", lambda _: row, allow_nothing=allow_nothing)
    for at, every in enumerate(zip(reference, candidate, *orders, strict=True)):
        a, b, *rounded = map(_outputs, every)
        comparison.add(at, f"sample {at}", a, b, rounded)
    return comparison.result()


def _outputs(answer: Any) -> list[TensorValues]:
    several = answer if isinstance(answer, tuple) else (answer,)
    return [one if isinstance(one, TensorValues) else tensor(one) for one in several]


def scored(task: Any, *pairs: tuple[Any, Any], is_reference: bool = False) -> Any:
    """Return the score of outputs against targets, or against the outputs of a reference."""
    scorer = task.against_reference() if is_reference else task.against_targets()
    for values, target in pairs:
        scorer.add((tensor(values),), (tensor(target),) if is_reference else target)
    return scorer.result()


def codes(found: SideDiff) -> set[str]:
    return {reason.code for one in found.outputs for reason in one.reasons}


def reason(found: SideDiff, code: str) -> OutputReason:
    (output,) = found.outputs
    (match,) = (each for each in output.reasons if each.code == code)
    return match


def wave(*shape: int) -> Any:
    """Return 1 and −1 in turn: mean 0 and spread 1 for an even count."""
    return np.where(np.arange(int(np.prod(shape))) % 2, 1.0, -1.0).reshape(shape)


def cross_wave(count: int) -> Any:
    """Return 1 and −1 in pairs: of mean 0 and not correlated with `wave` for a multiple of 4."""
    return np.where(np.arange(count) // 2 % 2, 1.0, -1.0)
