"""The step of the clock behind a series of printed times.

trtexec subtracts 32-bit floats that count milliseconds since it started, and prints six digits. The
step of such a difference doubles whenever that count passes a power of two: 2⁻¹¹ ms from 4.1 s on.
"""

from __future__ import annotations

import numpy as np

from enginescope.records.samples import Array

_MIN_VALUES = 32
_MIN_DISTINCT = 3
_FINEST = 24
_PRINTED_DIGITS = 6


def clock_step_ms(values_ms: Array) -> float | None:
    """Return the power of two, in milliseconds, that the last quarter of `values_ms` steps by.

    The step is coarsest at the end. ``None`` if there are too few values, or the digits they are
    printed with are coarser than any step.

    Args:
        values_ms: In the order they were taken.
    """
    tail = values_ms[-max(_MIN_VALUES, values_ms.size // 4) :]
    return _step_of(tail, clearance=4.0)


def on_the_clock(values_ms: Array) -> Array:
    """Return `values_ms` with the rounding of the print undone, where a step shows."""
    step = _step_of(values_ms, clearance=2.0)
    return values_ms if step is None else np.round(values_ms / step) * step


def _step_of(values_ms: Array, clearance: float) -> float | None:
    values = np.abs(values_ms[values_ms != 0])
    if values.size < _MIN_VALUES or np.unique(values).size < _MIN_DISTINCT:
        return None
    rounding = 0.51 * 10.0 ** (np.floor(np.log10(values)) + 1 - _PRINTED_DIGITS)
    for power in range(_FINEST):
        step = 2.0**-power
        if step < clearance * float(rounding.max()):
            return None  # any value would look like a multiple
        if bool(np.all(np.abs(values - np.round(values / step) * step) <= rounding)):
            return step
    return None
