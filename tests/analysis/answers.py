"""Tensors with values, and the ways in which answers go wrong."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.accuracy.output_diff import OutputReason, SideDiff
from enginescope.analysis.errors.output_tolerance import Tolerance, tolerance_named
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType

_TYPES = {
    "float64": DataType.FP64,
    "float32": DataType.FP32,
    "float16": DataType.FP16,
    "int64": DataType.INT64,
    "int32": DataType.INT32,
    "int8": DataType.INT8,
    "uint8": DataType.UINT8,
    "bool": DataType.BOOL,
    "complex64": DataType.COMPLEX64,
}


def tensor(values: Any, name: str = "y", dtype: DataType | None = None) -> TensorValues:
    array = np.asarray(values)
    kind = dtype or _TYPES.get(array.dtype.name, DataType.STRING)
    return TensorValues(name=name, dtype=kind, shape=array.shape, data=array)


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
    limits = tolerance_named(tolerance) if isinstance(tolerance, str) else tolerance
    comparison = SideComparison("B", lambda _: limits, allow_nothing=allow_nothing)
    for at, every in enumerate(zip(reference, candidate, *orders, strict=True)):
        a, b, *rounded = map(_outputs, every)
        comparison.add(at, f"sample {at}", a, b, rounded)
    return comparison.result()


def _outputs(answer: Any) -> list[TensorValues]:
    several = answer if isinstance(answer, tuple) else (answer,)
    return [one if isinstance(one, TensorValues) else tensor(one) for one in several]


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
