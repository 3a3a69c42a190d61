"""Joules of a request, from what a GPU reported while the loop was repeated."""

from __future__ import annotations

import math
from typing import Literal

from enginescope.core.record import Record
from enginescope.records.run.telemetry import (
    ENERGY,
    POWER,
    POWER_INSTANT,
    GpuTelemetry,
    Span,
    Telemetry,
)
from enginescope.records.samples import Interval
from enginescope.stats.mean_power import MeanPower, of_counter, of_power, scatter_w

#: Standard uncertainties to either side that make 95 %.
_COVERAGE = 1.96


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


def energy_of(gpu: GpuTelemetry | None, batch: int | None = None) -> Energy | None:
    """Return what a request costs; ``None`` where the GPU did not report it.

    Args:
        batch: Items of a request; not known counts as 1.
    """
    load = gpu.span("load") if gpu else None
    if gpu is None or gpu.series is None or load is None or not gpu.requests:
        return None
    drawn = _mean_power(gpu.series, load)
    if drawn is None:
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
    )


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
    return MeanPower(
        watts=found.watts,
        uncertainty_w=both,
        method=found.method,
        duration_ms=found.duration_ms,
        changes=found.changes,
        step_mj=found.step_mj,
        step_ms=found.step_ms,
    )


def _interval(value: float, uncertainty: float) -> Interval:
    margin = _COVERAGE * uncertainty
    return Interval(low=value - margin, high=value + margin)
