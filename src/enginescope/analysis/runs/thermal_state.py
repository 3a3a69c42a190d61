"""Whether a GPU's temperature had settled while a run was measured."""

from __future__ import annotations

from typing import Literal

import numpy as np

from enginescope.core.record import Record
from enginescope.judge.units import signed
from enginescope.records.run.telemetry import TEMPERATURE, GpuTelemetry, Telemetry, held_by

#: Settled: the temperature changes by less, in °C a minute.
SETTLED_C_PER_MIN = 6.0
#: Sensors report whole degrees: a smaller change may be rounding.
_RESOLVED_C = 2.0
_THERMAL = ("sw_thermal", "hw_thermal")

State = Literal["cold", "settled", "cooling", "throttled", "unknown"]


class ThermalState(Record, frozen=True, kw_only=True):
    """The thermal state of a GPU over the telemetry pass, else over the timed loop.

    Attributes:
        state: ``cold``: the temperature rose by at least `SETTLED_C_PER_MIN`, and by more than
            rounding. ``cooling``: it fell so. ``settled``: neither. ``throttled``: a thermal limit
            held the clock down. ``unknown``: see `why`.
        part: ``load``: the telemetry pass. ``timed``: the timed loop.
        from_c, to_c: Mean of the first and of the last quarter of the readings.
        slope_c_per_min: Least squares over the part.
    """

    state: State
    part: Literal["load", "timed"] | None = None
    duration_s: float | None = None
    from_c: float | None = None
    to_c: float | None = None
    slope_c_per_min: float | None = None
    why: str | None = None

    @property
    def text(self) -> str:
        """The state with the figures behind it: ``cold: 31 → 40 °C, +22 °C/min over 20 s``."""
        if self.from_c is None or self.to_c is None or self.slope_c_per_min is None:
            return f"{self.state}: {self.why}" if self.why else self.state
        span = f"{self.from_c:.0f} → {self.to_c:.0f} °C"
        slope = f"{signed(self.slope_c_per_min, 0)} °C/min over {self.duration_s:.1f} s"
        return f"{self.state}: {span}, {slope}{f'; {self.why}' if self.why else ''}"


def thermal_state(gpu: GpuTelemetry | None) -> ThermalState:
    """Return the thermal state of a run's GPU; ``unknown`` without telemetry."""
    if gpu is None:
        return ThermalState(state="unknown", why="no GPU telemetry")
    load = gpu.span("load")
    part: Literal["load", "timed"] = "load" if gpu.series and load else "timed"
    series, lasted_ms = gpu.timed, None
    if gpu.series is not None and load is not None:
        series, lasted_ms = gpu.series.between(load.from_ms, load.to_ms), load.duration_ms
    state = _by_temperature(series, part, lasted_ms)
    reasons = (held.reason for of in (gpu.timed, series) for held in held_by(of))
    meant = dict.fromkeys(one.meaning for one in reasons if one.name in _THERMAL)
    if not meant:
        return state
    return ThermalState(
        state="throttled",
        part=part,
        duration_s=state.duration_s,
        from_c=state.from_c,
        to_c=state.to_c,
        slope_c_per_min=state.slope_c_per_min,
        why=", ".join(meant),
    )


def _by_temperature(
    series: Telemetry | None, part: Literal["load", "timed"], lasted_ms: float | None
) -> ThermalState:
    """Return the state that the temperature alone shows.

    Args:
        lasted_ms: Length of the part; by default from the first reading to the last.
    """
    values = series.channel(TEMPERATURE) if series else None
    known = np.isfinite(values) if values is not None else np.zeros(0, bool)
    if series is None or values is None or known.sum() < 2:
        return ThermalState(state="unknown", part=part, why="the temperature was not read")
    minutes, degrees = (series.time_ms[known] - series.time_ms[known][0]) / 6e4, values[known]
    duration_min = float(minutes[-1]) if lasted_ms is None else lasted_ms / 6e4
    slope = float(np.polyfit(minutes, degrees, 1)[0]) if minutes[-1] else 0.0
    resolved = _RESOLVED_C / duration_min if duration_min else float("inf")
    why, state = None, _state(slope, resolved)
    if state == "unknown":
        why = (
            f"too short to see {SETTLED_C_PER_MIN:g} °C/min with a sensor of 1 °C; "
            f"measure for {60 * _RESOLVED_C / SETTLED_C_PER_MIN:g} s"
        )
    quarter = max(1, degrees.size // 4)
    return ThermalState(
        state=state,
        part=part,
        duration_s=60 * duration_min,
        from_c=float(degrees[:quarter].mean()),
        to_c=float(degrees[-quarter:].mean()),
        slope_c_per_min=slope,
        why=why,
    )


def _state(slope: float, resolved: float) -> State:
    """Return the state for a slope and the least slope that the sensor resolves, in °C/min."""
    if abs(slope) >= max(SETTLED_C_PER_MIN, resolved):
        return "cold" if slope > 0 else "cooling"
    return "settled" if resolved <= SETTLED_C_PER_MIN else "unknown"
