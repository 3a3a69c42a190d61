"""Joules of a request, from what a GPU reported while the loop was repeated."""

from __future__ import annotations

import math
import re
from typing import Literal

from enginescope.analysis.runs.mean_power import MeanPower, of_counter, of_power, scatter_w
from enginescope.core.record import Record, replace
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Interval
from enginescope.judge.units import format_significant
from enginescope.records.run.telemetry import (
    ENERGY,
    POWER,
    POWER_INSTANT,
    GpuTelemetry,
    Span,
    Telemetry,
)

#: Standard uncertainties to either side that make 95 %.
_COVERAGE = 1.96
#: Fewer steps of the counter, or readings of power, carry no figure.
FEWEST_STEPS = 20
#: Boards whose power sensor averages 25 ms of each 100 ms (arXiv 2312.02741).
_PART_TIME = re.compile(r"\b(?:[AH][18]00|H20|H200|GH200|A30)\b")
_PART_TIME_PCT = 25.0


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


def energy_of(gpu: GpuTelemetry | None, batch: int | None = None) -> Energy | None:
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


def energy_notices(gpu: GpuTelemetry) -> tuple[Notice, ...]:
    """Return why the energy of a telemetry pass is withheld, where it is."""
    drawn, load = _drawn(gpu), gpu.span("load")
    channels = {one.name for one in gpu.series.channels} if gpu.series else set()
    if load is None or not gpu.requests or not channels & {ENERGY, POWER}:
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
            code="W-ENERGY-WINDOW",
            message=f"{message}; sample for at least {needed} s",
            evidence={"steps": steps, "fewest": FEWEST_STEPS, "duration_s": seconds},
        ),
    )


def _drawn(gpu: GpuTelemetry | None) -> MeanPower | None:
    """Return the power of the load; ``None`` where requests, or all readings, are missing."""
    load = gpu.span("load") if gpu else None
    if gpu is None or gpu.series is None or load is None or not gpu.requests:
        return None
    return _mean_power(gpu.series, load)


def _steps(drawn: MeanPower) -> int:
    return drawn.changes if drawn.method == "counter" else drawn.readings


def _seen_pct(gpu: GpuTelemetry) -> float | None:
    return _PART_TIME_PCT if _PART_TIME.search(gpu.gpu.name) else None


def _sampling(gpu: GpuTelemetry, drawn: MeanPower) -> str:
    steps = f"sampled: {_steps(drawn)}"
    if drawn.method == "counter":
        text = f"{steps} counter steps of {format_significant(drawn.step_ms or 0, 2)} ms"
    else:
        text = f"{steps} readings of power"
    seen = _seen_pct(gpu)
    share = f"about {seen:g} %" if seen is not None else "an unknown share"
    return f"{text}, sensor sees {share} of the time"


def _mean_power(series: Telemetry, span: Span) -> MeanPower | None:
    """Return the power of a stretch: by the counter, else by power of the moment, else averaged."""
    counter = series.channel(ENERGY)
    found = None
    if counter is not None:
        found = of_counter(series.time_ms, counter, span.from_ms, span.to_ms)
    for name in (POWER_INSTANT, POWER):
        power = series.channel(name)
        if found is None and power is not None:
            found = of_power(series.time_ms, power, span.from_ms, span.to_ms)
    return found


def _idle_power(
    series: Telemetry, span: Span, method: Literal["counter", "power"]
) -> MeanPower | None:
    """Return the power at rest, by the method of the load; its scatter is part of what it says."""
    found = _mean_power(series, span)
    if found is None or found.method != method:
        return None
    power = series.channel(POWER_INSTANT)
    power = series.channel(POWER) if power is None else power
    if found.method == "power" or power is None:
        return found
    inside = (series.time_ms >= span.from_ms) & (series.time_ms <= span.to_ms)
    scatter = scatter_w(power[inside])
    both = math.hypot(found.uncertainty_w, scatter)
    return replace(found, uncertainty_w=both)


def _interval(value: float, uncertainty: float) -> Interval:
    margin = _COVERAGE * uncertainty
    return Interval(low=value - margin, high=value + margin)
