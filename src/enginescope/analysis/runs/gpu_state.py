"""A GPU during a run: mean power, energy of a request, and whether its temperature settled."""

import math
import re
from typing import Literal

import numpy as np

from enginescope.core.record import Record, replace
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array, Interval
from enginescope.judge.units import format_significant, signed
from enginescope.records.run import telemetry

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
    # where steps are of several units, what they are multiples of; else NVML's resolution: 1 mJ
    unit_mj = float(np.gcd.reduce(np.rint(steps[at]).astype(np.int64)))
    unit_mj = unit_mj if np.median(steps[at]) > 1.5 * unit_mj else 1.0
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


#: Fewer steps of the counter, or readings of power, carry no figure.
FEWEST_STEPS = 20
#: Boards whose power sensor averages 25 ms of each 100 ms (arXiv 2312.02741).
_PART_TIME = re.compile(r"\b(?:[AH][18]00|H20|H200|GH200|A30)\b")


class Energy(Record, frozen=True, kw_only=True):
    """What a request costs.

    Attributes:
        method: From the GPU's energy counter, or from power added up over time.
        joules: Of one request, whatever its batch: all that the GPU drew, divided.
        interval: 95 %, of the reading; the sensor's own accuracy is not in it.
        per_item_j: `joules` ÷ batch.
        load_w: While the loop ran.
        idle_w: Before it: the model loaded, nothing asked of it. ``None`` where it was not taken.
        net_joules: Of one request, with what an idle GPU draws in the same time left out.
        duration_ms: That the requests took.
        step_mj, step_ms: The counter's usual steps.
        is_shared: Other processes were on the GPU: some of it is theirs.
        steps: Of the counter in that time; readings where power was added up.
        seen_pct: Share of the time that the board's sensor sees; ``None``: not known.
        sampling: The same in words.
    """

    method: Literal["counter", "power"]
    joules: float
    interval: Interval
    per_item_j: float
    load_w: float
    idle_w: float | None
    idle_interval: Interval | None
    net_joules: float | None
    net_interval: Interval | None
    requests: int
    duration_ms: float
    step_mj: float | None
    step_ms: float | None
    is_shared: bool
    steps: int
    seen_pct: float | None
    sampling: str


def energy_of(gpu: telemetry.GpuTelemetry | None, batch: int | None = None) -> Energy | None:
    """Return what a request costs; ``None``: not reported, or withheld (`energy_notices`).

    Args:
        batch: Items of a request; not known counts as 1.
    """
    drawn, load = _drawn(gpu), gpu.span("load") if gpu else None
    if gpu is None or gpu.series is None or load is None or drawn is None or not gpu.requests:
        return None
    if _steps(drawn) < FEWEST_STEPS:
        return None
    idle = gpu.span("idle")
    resting = _idle_power(gpu.series, idle, drawn.method) if idle else None
    each_s = load.duration_ms / 1e3 / gpu.requests
    joules = drawn.watts * each_s
    net = None if resting is None else (drawn.watts - resting.watts) * each_s
    spread = math.hypot(drawn.uncertainty_w, resting.uncertainty_w if resting else 0.0)
    return Energy(
        method=drawn.method,
        joules=joules,
        interval=_interval(joules, drawn.uncertainty_w * each_s),
        per_item_j=joules / (batch or 1),
        load_w=drawn.watts,
        idle_w=resting.watts if resting else None,
        idle_interval=_interval(resting.watts, resting.uncertainty_w) if resting else None,
        net_joules=net,
        net_interval=None if net is None else _interval(net, spread * each_s),
        requests=gpu.requests,
        duration_ms=load.duration_ms,
        step_mj=drawn.step_mj,
        step_ms=drawn.step_ms,
        is_shared=bool(gpu.others),
        steps=_steps(drawn),
        seen_pct=_seen_pct(gpu),
        sampling=_sampling(gpu, drawn),
    )


def energy_notices(gpu: telemetry.GpuTelemetry) -> tuple[Notice, ...]:
    """Return why the energy of a telemetry pass is withheld, where it is."""
    drawn, load = _drawn(gpu), gpu.span("load")
    channels = {one.name for one in gpu.series.channels} if gpu.series else set()
    if load is None or not gpu.requests or not channels & {telemetry.ENERGY, telemetry.POWER}:
        return ()
    steps, seconds = _steps(drawn) if drawn else 0, load.duration_ms / 1e3
    if steps >= FEWEST_STEPS:
        return ()
    is_counter = drawn is not None and drawn.method == "counter"
    what = "steps of the energy counter" if is_counter else "readings of power"
    needed = math.ceil(seconds * FEWEST_STEPS / max(1, steps))
    message = f"energy is withheld: {steps} {what} in {seconds:.1f} s, fewer than {FEWEST_STEPS}"
    return (
        Notice(
            "W-ENERGY-WINDOW",
            f"{message}; sample for at least {needed} s",
            {"steps": steps, "fewest": FEWEST_STEPS, "duration_s": seconds},
        ),
    )


def _drawn(gpu: telemetry.GpuTelemetry | None) -> MeanPower | None:
    """Return the power of the load; ``None`` where requests, or all readings, are missing."""
    load = gpu.span("load") if gpu else None
    if gpu is None or gpu.series is None or load is None or not gpu.requests:
        return None
    return _mean_power(gpu.series, load)


def _steps(drawn: MeanPower) -> int:
    return drawn.changes if drawn.method == "counter" else drawn.readings


def _seen_pct(gpu: telemetry.GpuTelemetry) -> float | None:
    return 25.0 if _PART_TIME.search(gpu.gpu.name) else None


def _sampling(gpu: telemetry.GpuTelemetry, drawn: MeanPower) -> str:
    what = "readings of power"
    if drawn.method == "counter":
        what = f"counter steps of {format_significant(drawn.step_ms or 0, 2)} ms"
    seen = _seen_pct(gpu)
    share = f"about {seen:g} %" if seen is not None else "an unknown share"
    return f"sampled: {_steps(drawn)} {what}, sensor sees {share} of the time"


def _mean_power(series: telemetry.Telemetry, span: telemetry.Span) -> MeanPower | None:
    for name, mean in (
        (telemetry.ENERGY, of_counter),
        (telemetry.POWER_INSTANT, of_power),
        (telemetry.POWER, of_power),
    ):
        channel = series.channel(name)
        if channel is not None:
            power = mean(series.time_ms, channel, span.from_ms, span.to_ms)
            if power is not None:
                return power
    return None


def _idle_power(
    series: telemetry.Telemetry, span: telemetry.Span, method: Literal["counter", "power"]
) -> MeanPower | None:
    """Return the power at rest, by the method of the load; its scatter is part of what it says."""
    found = _mean_power(series, span)
    if found is None or found.method != method:
        return None
    power = series.channel(telemetry.POWER_INSTANT)
    power = series.channel(telemetry.POWER) if power is None else power
    if found.method == "power" or power is None:
        return found
    inside = (series.time_ms >= span.from_ms) & (series.time_ms <= span.to_ms)
    both = math.hypot(found.uncertainty_w, scatter_w(power[inside]))
    return replace(found, uncertainty_w=both)


def _interval(value: float, uncertainty: float) -> Interval:
    margin = 1.96 * uncertainty  # 95 %
    return Interval(low=value - margin, high=value + margin)


#: Settled: the temperature changes by less, in °C a minute.
SETTLED_C_PER_MIN = 6.0
#: Sensors report whole degrees: a smaller change may be rounding.
_RESOLVED_C = 2.0

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


def thermal_state(gpu: telemetry.GpuTelemetry | None) -> ThermalState:
    """Return the thermal state of a run's GPU; ``unknown`` without telemetry."""
    if gpu is None:
        return ThermalState(state="unknown", why="no GPU telemetry")
    load = gpu.span("load")
    part: Literal["load", "timed"] = "load" if gpu.series and load else "timed"
    series, lasted_ms = gpu.timed, None
    if gpu.series is not None and load is not None:
        series, lasted_ms = gpu.series.between(load.from_ms, load.to_ms), load.duration_ms
    state = _by_temperature(series, part, lasted_ms)
    reasons = (held.reason for of in (gpu.timed, series) for held in telemetry.held_by(of))
    thermal = ("sw_thermal", "hw_thermal")
    meant = dict.fromkeys(reason.meaning for reason in reasons if reason.name in thermal)
    return replace(state, state="throttled", why=", ".join(meant)) if meant else state


def _by_temperature(
    series: telemetry.Telemetry | None, part: Literal["load", "timed"], lasted_ms: float | None
) -> ThermalState:
    """Return the state that the temperature alone shows.

    Args:
        lasted_ms: Length of the part; by default from the first reading to the last.
    """
    values = series.channel(telemetry.TEMPERATURE) if series else None
    known = np.isfinite(values) if values is not None else np.zeros(0, bool)
    if series is None or values is None or known.sum() < 2:
        return ThermalState(state="unknown", part=part, why="the temperature was not read")
    minutes, degrees = (series.time_ms[known] - series.time_ms[known][0]) / 6e4, values[known]
    duration_min = float(minutes[-1]) if lasted_ms is None else lasted_ms / 6e4
    slope = float(np.polyfit(minutes, degrees, 1)[0]) if minutes[-1] else 0.0
    resolved = _RESOLVED_C / duration_min if duration_min else float("inf")
    why: str | None = None
    state: State = "settled"
    if abs(slope) >= max(SETTLED_C_PER_MIN, resolved):
        state = "cold" if slope > 0 else "cooling"
    elif resolved > SETTLED_C_PER_MIN:
        state = "unknown"
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
