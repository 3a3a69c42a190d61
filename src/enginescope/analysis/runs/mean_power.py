"""Mean power of a stretch of time, with its uncertainty: from an energy counter or from power."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from enginescope.core.record import Record
from enginescope.judge.samples import Array

#: What NVML's counter is told in, in millijoules.
_RESOLUTION_MJ = 1.0
#: A value that lies anywhere in a stretch of this length deviates by so much of it.
_OF_STRETCH = 1 / math.sqrt(12)


class MeanPower(Record, frozen=True, kw_only=True):
    """Power over a stretch.

    Attributes:
        uncertainty_w: Standard uncertainty of reading it, without that of the sensor.
        duration_ms: Of the part of the stretch that it was taken over.
        changes: How often what was read changed: what the readings are worth.
        readings: Values read in the stretch.
        step_mj, step_ms: The counter's usual steps, in energy and in time.
    """

    watts: float
    uncertainty_w: float
    method: Literal["counter", "power"]
    duration_ms: float
    changes: int
    readings: int
    step_mj: float | None = None
    step_ms: float | None = None


def of_counter(time_ms: Array, energy_mj: Array, from_ms: float, to_ms: float) -> MeanPower | None:
    """Return energy over time between the first and the last step of a counter in a stretch.

    A step is seen up to one reading late; it lies anywhere between the reading that shows it and
    the one before, at either end. Where steps are of several units, the energy is known to a unit;
    where each is one, it was crossed at the step, and is known to what the counter is told in.

    Returns:
        ``None`` with fewer than two steps in the stretch, or a counter that was reset.
    """
    inside = (time_ms >= from_ms) & (time_ms <= to_ms) & np.isfinite(energy_mj)
    times, energy = time_ms[inside], energy_mj[inside]
    steps = np.diff(energy)
    at = np.flatnonzero(steps)
    if at.size < 2 or (steps < 0).any():
        return None
    middles = (times[at] + times[at + 1]) / 2
    gaps = times[at + 1] - times[at]
    span_ms = float(middles[-1] - middles[0])
    spent_mj = float(energy[at[-1] + 1] - energy[at[0] + 1])
    late_ms = _OF_STRETCH * math.hypot(gaps[0], gaps[-1])
    unit_mj = _unit(steps[at])
    coarse_mj = _OF_STRETCH * math.sqrt(2) * unit_mj
    watts = spent_mj / span_ms
    return MeanPower(
        watts=watts,
        uncertainty_w=watts * math.hypot(late_ms / span_ms, coarse_mj / spent_mj),
        method="counter",
        duration_ms=span_ms,
        changes=int(at.size),
        readings=int(times.size),
        step_mj=float(np.median(steps[at])),
        step_ms=float(np.median(np.diff(middles))),
    )


def of_power(time_ms: Array, power_w: Array, from_ms: float, to_ms: float) -> MeanPower | None:
    """Return the integral of power over time, by the trapezoidal rule.

    Readings repeat until the driver has a new one, so their scatter is divided by the root of the
    number of times that they changed.

    Returns:
        ``None`` with fewer than two readings in the stretch.
    """
    inside = (time_ms >= from_ms) & (time_ms <= to_ms) & np.isfinite(power_w)
    times, power = time_ms[inside], power_w[inside]
    if times.size < 2:
        return None
    gaps, span_ms = np.diff(times), float(times[-1] - times[0])
    watts = float(((power[1:] + power[:-1]) / 2 * gaps).sum() / span_ms)
    return MeanPower(
        watts=watts,
        uncertainty_w=scatter_w(power),
        method="power",
        duration_ms=span_ms,
        changes=int(np.count_nonzero(np.diff(power))),
        readings=int(times.size),
    )


def scatter_w(power_w: Array) -> float:
    """Return the standard error of the mean of readings that repeat until there is a new one."""
    known = power_w[np.isfinite(power_w)]
    if known.size < 2:
        return 0.0
    fresh = 1 + np.count_nonzero(np.diff(known))
    return float(known.std(ddof=1)) / math.sqrt(fresh)


def _unit(steps: Array) -> float:
    """Return the unit that steps of several units are multiples of, in millijoules."""
    common = float(np.gcd.reduce(np.rint(steps).astype(np.int64)))
    return common if np.median(steps) > 1.5 * common else _RESOLUTION_MJ
