"""Runs with what a GPU reported, made by hand."""

from typing import Any

import numpy as np

from enginescope.judge.samples import frozen
from enginescope.records.run import telemetry as channel
from enginescope.records.run.run import Run
from enginescope.records.run.telemetry import (
    Channel,
    GpuProcess,
    GpuTelemetry,
    SampledGpu,
    Span,
    Telemetry,
)
from tests.render.runs import measured_run


def gpu_telemetry(**changes: Any) -> GpuTelemetry:
    """An H200 at 75 W, then 475 W; its clock is not reported for half a second."""
    time_ms = np.arange(2_000.0, 12_000, 100)
    busy = time_ms >= 6_000
    clock = np.where((time_ms > 8_000) & (time_ms < 8_500), np.nan, 1980.0)
    power = np.where(busy, 475.0, 75.0)
    values = {
        channel.UTILIZATION: np.where(busy, 98.0, 0.0),
        channel.MEMORY_UTILIZATION: np.where(busy, 31.0, 0.0),
        channel.DEVICE_MEMORY: np.full(100, 1.5e9),
        channel.PROCESS_MEMORY: np.full(100, 5.0e8),
        channel.SM_CLOCK: clock,
        channel.POWER: power,
        channel.TEMPERATURE: np.linspace(38, 52, 100),
        channel.ENERGY: 1e9 + np.cumsum(power * 100),
        channel.THROTTLE: np.where(busy, 4.0, 1.0),
    }
    timed = {channel.SM_CLOCK: [1980, 1500, 1500], channel.THROTTLE: [0, 4, 4]}
    fields: dict[str, Any] = {
        "gpu": SampledGpu(
            source="nvml",
            name="NVIDIA H200",
            uuid="GPU-1",
            power_limit_w=700.0,
            power_is_instant=False,
        ),
        "timed": _series([1_000, 1_100, 1_200], timed),
        "series": _series(time_ms, values),
        "spans": (
            Span(kind="timed", from_ms=1_000, to_ms=1_200),
            Span(kind="idle", from_ms=3_000, to_ms=5_900),
            Span(kind="load", from_ms=6_500, to_ms=11_500),
        ),
        "requests": 10_000,
        "interval_ms": 100.0,
        "others": (GpuProcess(pid=42, name="<b>train</b>", memory_bytes=1 << 30),),
    }
    return GpuTelemetry(**(fields | changes))


def gpu_run(run_id: str = "7f3ac01944de", **changes: Any) -> Run:
    return measured_run(id=run_id, gpu=gpu_telemetry(**changes))


def _series(time_ms: Any, values: dict[str, Any]) -> Telemetry:
    channels = tuple(Channel(name=name, values=frozen(one)) for name, one in values.items())
    return Telemetry(time_ms=frozen(time_ms), channels=channels)
