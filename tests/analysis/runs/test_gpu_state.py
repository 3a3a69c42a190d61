import numpy as np
import pytest

from enginescope.analysis.runs.gpu_state import energy_notices, energy_of, thermal_state
from enginescope.judge.samples import frozen
from enginescope.records.run.telemetry import (
    ENERGY,
    POWER,
    POWER_INSTANT,
    TEMPERATURE,
    THROTTLE,
    Channel,
    GpuProcess,
    GpuTelemetry,
    SampledGpu,
    Span,
    Telemetry,
)

IDLE_W, LOAD_W = 75.0, 475.0
SPANS = (
    Span(kind="idle", from_ms=1_000, to_ms=4_000),
    Span(kind="load", from_ms=5_000, to_ms=10_000),
)


def telemetry(*names: str, noise_w: float = 0.0, **changes) -> GpuTelemetry:
    """A GPU at 75 W, then, from 4 s on, at 475 W."""
    time_ms = np.arange(0.0, 10_100, 100)
    power = np.where(time_ms <= 4_000, IDLE_W, LOAD_W)
    energy = 1e6 + np.where(time_ms < 4_000, 0, LOAD_W - IDLE_W) * (time_ms - 4_000)
    energy += IDLE_W * time_ms
    drawn = power + np.random.default_rng(2).normal(0, noise_w, power.size)
    known = {ENERGY: energy, POWER: drawn, POWER_INSTANT: drawn}
    channels = tuple(Channel(name=one, values=frozen(known[one])) for one in names)
    fields = {
        "gpu": SampledGpu(source="nvml", name="Example"),
        "series": Telemetry(time_ms=frozen(time_ms), channels=channels),
        "spans": SPANS,
        "requests": 1_000,
    }
    return GpuTelemetry(**(fields | changes))


@pytest.mark.parametrize("names", [(ENERGY, POWER), (POWER_INSTANT, POWER), (POWER,)])
def test_joules_of_a_request_and_those_above_idle(names) -> None:
    found = energy_of(telemetry(*names, noise_w=3.0), batch=4)
    assert found.method == ("counter" if ENERGY in names else "power")
    # 5 s for 1,000 requests: 5 ms each
    assert found.joules == pytest.approx(LOAD_W * 0.005, rel=0.01)
    assert found.net_joules == pytest.approx((LOAD_W - IDLE_W) * 0.005, rel=0.02)
    assert found.per_item_j == pytest.approx(found.joules / 4)
    assert found.idle_w == pytest.approx(IDLE_W, rel=0.03)
    assert found.interval.low < LOAD_W * 0.005 < found.interval.high
    assert found.net_interval.low < (LOAD_W - IDLE_W) * 0.005 < found.net_interval.high


def test_what_was_not_reported_or_measured_at_rest_is_none_and_said() -> None:
    calm = energy_of(telemetry(ENERGY, POWER))
    restless = energy_of(telemetry(ENERGY, POWER, noise_w=40))
    assert calm.idle_interval is not None
    assert restless.idle_interval is not None
    widths = [one.idle_interval.high - one.idle_interval.low for one in (calm, restless)]
    assert widths[1] > 1.5 * widths[0]
    assert calm.interval == restless.interval  # by the counter alone
    found = energy_of(telemetry(ENERGY, spans=SPANS[1:]))
    assert (found.idle_w, found.net_joules, found.net_interval) == (None, None, None)
    assert energy_of(None) is None
    assert energy_of(telemetry()) is None
    assert energy_of(telemetry(ENERGY, requests=None)) is None
    assert energy_of(telemetry(ENERGY, spans=SPANS[:1])) is None
    assert energy_of(telemetry(ENERGY, series=None)) is None
    found = energy_of(telemetry(ENERGY, others=(GpuProcess(pid=9),)))
    assert found.is_shared
    assert energy_notices(telemetry()) == ()
    assert energy_notices(telemetry(ENERGY, requests=None)) == ()


def test_energy_above_idle_carries_the_uncertainty_of_both() -> None:
    found = energy_of(telemetry(ENERGY, POWER, noise_w=40))
    assert found.idle_interval is not None
    assert found.net_interval is not None

    def width(interval) -> float:
        return interval.high - interval.low

    each_s = found.duration_ms / 1e3 / found.requests
    both = np.hypot(width(found.interval), width(found.idle_interval) * each_s)
    assert width(found.net_interval) == pytest.approx(both)
    assert width(found.net_interval) > 1.1 * width(found.interval)


def test_idle_power_of_another_method_is_not_subtracted() -> None:
    """The counter has no readings at idle: power of another sensor has another bias."""
    usual = telemetry(ENERGY, POWER)
    energy, power = (usual.series.channel(name) for name in (ENERGY, POWER))
    energy = np.where(usual.series.time_ms <= 4_000, np.nan, energy)
    channels = tuple(
        Channel(name=name, values=frozen(values))
        for name, values in ((ENERGY, energy), (POWER, power))
    )
    found = energy_of(telemetry(series=Telemetry(time_ms=usual.series.time_ms, channels=channels)))
    assert found.method == "counter"
    assert (found.idle_w, found.net_joules, found.net_interval) == (None, None, None)


@pytest.mark.parametrize(
    ("name", "seen_pct", "words"),
    [
        ("NVIDIA H100 PCIe", 25.0, "sensor sees about 25 % of the time"),
        ("NVIDIA A100-SXM4-80GB", 25.0, "sensor sees about 25 % of the time"),
        ("NVIDIA GeForce RTX 4090", None, "sensor sees an unknown share of the time"),
    ],
)
def test_every_figure_says_how_it_was_sampled(name, seen_pct, words) -> None:
    gpu = SampledGpu(source="nvml", name=name)
    counted = energy_of(telemetry(ENERGY, gpu=gpu))
    added = energy_of(telemetry(POWER, gpu=gpu))
    assert counted.seen_pct == added.seen_pct == seen_pct
    assert counted.sampling == f"sampled: {counted.steps} counter steps of 100 ms, {words}"
    assert added.sampling == f"sampled: {added.steps} readings of power, {words}"


@pytest.mark.parametrize(
    ("seconds", "names", "is_withheld"),
    [
        (2.5, (ENERGY, POWER), False),
        (1.0, (ENERGY, POWER), True),
        (1.0, (POWER,), True),
        (0.05, (ENERGY, POWER), True),
    ],
)
def test_a_window_of_few_steps_gives_no_figure(seconds, names, is_withheld) -> None:
    load = Span(kind="load", from_ms=5_020, to_ms=5_020 + 1e3 * seconds)
    gpu = telemetry(*names, spans=(SPANS[0], load))
    assert (energy_of(gpu) is None) is is_withheld
    found = energy_notices(gpu)
    assert [one.code for one in found] == ["W-ENERGY-WINDOW"] * is_withheld
    if is_withheld:
        assert found[0].evidence["steps"] < found[0].evidence["fewest"]
        assert "sample for at least" in found[0].message


# The thermal state of a GPU, from simulated readings of a sensor of whole degrees.

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
    assert (found.state, found.part) == (state, "load")
    assert found.slope_c_per_min == pytest.approx(c_per_min, abs=60 * 1.6 / seconds)
    assert found.text.startswith(f"{state}: ")
    assert ("too short" in found.text) is (state == "unknown")


@pytest.mark.parametrize("phase", np.linspace(0, 1, 11))
def test_rounding_alone_is_never_cold(phase) -> None:
    assert thermal_state(sampled(lambda minutes: 50 + phase + 1.0 * minutes)).state == "settled"


def test_thermal_limits_count_in_the_timed_loop_alone() -> None:
    hot = thermal_state(sampled(lambda minutes: 0 * minutes + 85, bits=32 | 4))
    assert (hot.state, hot.why) == ("throttled", "thermal limit (software)")
    assert thermal_state(sampled(lambda minutes: 0 * minutes + 85, bits=4)).state == "settled"
    bits = Channel(name=THROTTLE, values=frozen([0.0, 64.0, 0.0]))
    timed = Telemetry(time_ms=frozen([0.0, 100.0, 200.0]), channels=(bits,))
    found = thermal_state(sampled(lambda minutes: 0 * minutes + 85, timed=timed))
    assert found.state == "throttled"
    time_ms = np.arange(0.0, 3_000, 100)
    rising = Channel(name=TEMPERATURE, values=frozen(np.round(31 + time_ms / 300)))
    timed = Telemetry(time_ms=frozen(time_ms), channels=(rising,))
    found = thermal_state(GpuTelemetry(gpu=SampledGpu(source="nvml", name="Example"), timed=timed))
    assert (found.state, found.part) == ("cold", "timed")
    assert thermal_state(None).why == "no GPU telemetry"
    found = thermal_state(GpuTelemetry(gpu=SampledGpu(source="nvml", name="Example")))
    assert (found.state, found.slope_c_per_min) == ("unknown", None)
    assert found.text == "unknown: the temperature was not read"
