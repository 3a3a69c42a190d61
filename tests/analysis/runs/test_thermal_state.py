"""The thermal state of a GPU, from simulated readings of a sensor of whole degrees."""

from __future__ import annotations

import numpy as np
import pytest

from enginescope.analysis.runs.gpu_state import thermal_state
from enginescope.judge.samples import frozen
from enginescope.records.run.telemetry import (
    TEMPERATURE,
    THROTTLE,
    Channel,
    GpuTelemetry,
    SampledGpu,
    Span,
    Telemetry,
)

FIRST_MS = 5_000.0


def sampled(degrees, *, seconds: float = 20.0, bits: int = 0, **changes) -> GpuTelemetry:
    """A pass of `seconds` whose temperature is `degrees` of the minutes since its start."""
    time_ms = np.arange(0.0, FIRST_MS + 1e3 * seconds, 100)
    under_load = np.maximum(0.0, time_ms - FIRST_MS) / 6e4
    values = {
        TEMPERATURE: np.round(degrees(under_load)),
        THROTTLE: np.where(time_ms > FIRST_MS + 500, float(bits), 0.0),
    }
    channels = tuple(Channel(name=name, values=frozen(each)) for name, each in values.items())
    fields = {
        "gpu": SampledGpu(source="nvml", name="Example"),
        "series": Telemetry(time_ms=frozen(time_ms), channels=channels),
        "spans": (Span(kind="load", from_ms=FIRST_MS, to_ms=FIRST_MS + 1e3 * seconds),),
        "requests": 1_000,
    }
    return GpuTelemetry(**(fields | changes))


@pytest.mark.parametrize(
    ("c_per_min", "seconds", "state"),
    [
        (30, 20, "cold"),
        (9, 20, "cold"),
        (3, 20, "settled"),
        (0, 20, "settled"),
        (-30, 20, "cooling"),
        (60, 5, "cold"),
        (6, 5, "unknown"),
        (0, 5, "unknown"),
        (4, 60, "settled"),
        (8, 60, "cold"),
    ],
)
def test_the_slope_decides_where_the_sensor_resolves_it(c_per_min, seconds, state) -> None:
    found = thermal_state(sampled(lambda minutes: 50.2 + c_per_min * minutes, seconds=seconds))
    assert found.state == state
    assert found.part == "load"
    assert found.slope_c_per_min == pytest.approx(c_per_min, abs=60 * 1.6 / seconds)
    assert found.text.startswith(f"{state}: ")
    assert ("too short" in found.text) is (state == "unknown")


@pytest.mark.parametrize("phase", np.linspace(0, 1, 11))
def test_rounding_alone_is_never_cold(phase) -> None:
    assert thermal_state(sampled(lambda minutes: 50 + phase + 1.0 * minutes)).state == "settled"


def test_a_thermal_limit_is_throttled_and_a_power_cap_is_not() -> None:
    hot = thermal_state(sampled(lambda minutes: 0 * minutes + 85, bits=32 | 4))
    assert hot.state == "throttled"
    assert hot.why == "thermal limit (software)"
    assert thermal_state(sampled(lambda minutes: 0 * minutes + 85, bits=4)).state == "settled"


def test_a_thermal_limit_in_the_timed_loop_counts() -> None:
    bits = Channel(name=THROTTLE, values=frozen([0.0, 64.0, 0.0]))
    timed = Telemetry(time_ms=frozen([0.0, 100.0, 200.0]), channels=(bits,))
    found = thermal_state(sampled(lambda minutes: 0 * minutes + 85, timed=timed))
    assert found.state == "throttled"


def test_the_timed_loop_alone() -> None:
    time_ms = np.arange(0.0, 3_000, 100)
    rising = Channel(name=TEMPERATURE, values=frozen(np.round(31 + time_ms / 300)))
    timed = Telemetry(time_ms=frozen(time_ms), channels=(rising,))
    gpu = GpuTelemetry(gpu=SampledGpu(source="nvml", name="Example"), timed=timed)
    found = thermal_state(gpu)
    assert (found.state, found.part) == ("cold", "timed")


def test_what_was_not_read_is_unknown() -> None:
    assert thermal_state(None).why == "no GPU telemetry"
    found = thermal_state(GpuTelemetry(gpu=SampledGpu(source="nvml", name="Example")))
    assert (found.state, found.slope_c_per_min) == ("unknown", None)
    assert found.text == "unknown: the temperature was not read"
