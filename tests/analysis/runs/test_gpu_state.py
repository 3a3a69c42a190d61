import numpy as np
import pytest

from enginescope.analysis.runs.gpu_state import (
    energy_notices,
    energy_of,
    of_counter,
    of_power,
    scatter_w,
    thermal_state,
)
from enginescope.judge.samples import frozen
from enginescope.records.run.telemetry import (
    ENERGY,
    POWER,
    POWER_INSTANT,
    SM_CLOCK,
    TEMPERATURE,
    THROTTLE,
    Channel,
    GpuProcess,
    GpuTelemetry,
    SampledGpu,
    Span,
    Telemetry,
    clock_around,
    held_by,
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
    assert (energy_of(None), energy_of(telemetry())) == (None, None)
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


def sampled(
    start_c: float, c_per_min: float = 0.0, *, seconds: float = 20.0, bits: int = 0, **changes
) -> GpuTelemetry:
    """A pass of `seconds` whose temperature rises from its start on."""
    time_ms = np.arange(0.0, FIRST_MS + 1e3 * seconds, 100)
    values = {
        TEMPERATURE: np.round(start_c + c_per_min * (np.maximum(0.0, time_ms - FIRST_MS) / 6e4)),
        THROTTLE: np.where(time_ms > FIRST_MS + 500, float(bits), 0.0),
    }
    channels = tuple(Channel(name=name, values=frozen(each)) for name, each in values.items())
    series = Telemetry(time_ms=frozen(time_ms), channels=channels)
    load = Span(kind="load", from_ms=FIRST_MS, to_ms=FIRST_MS + 1e3 * seconds)
    return telemetry(series=series, spans=(load,), **changes)


SLOPES = {
    "cold": [(30, 20), (9, 20), (60, 5), (8, 60)],
    "settled": [(3, 20), (0, 20), (4, 60)],
    "cooling": [(-30, 20)],
    "unknown": [(6, 5), (0, 5)],
}


@pytest.mark.parametrize("state", SLOPES)
def test_the_slope_decides_where_the_sensor_resolves_it(state) -> None:
    for c_per_min, seconds in SLOPES[state]:
        found = thermal_state(sampled(50.2, c_per_min, seconds=seconds))
        assert (found.state, found.part) == (state, "load"), (c_per_min, seconds)
        assert found.slope_c_per_min == pytest.approx(c_per_min, abs=60 * 1.6 / seconds)
        assert found.text.startswith(f"{state}: ")
        assert ("too short" in found.text) is (state == "unknown")


def test_rounding_alone_is_never_cold_and_thermal_limits_count_in_the_timed_loop_alone() -> None:
    states = {thermal_state(sampled(50 + phase, 1.0)).state for phase in np.linspace(0, 1, 11)}
    assert states == {"settled"}
    hot = thermal_state(sampled(85, bits=32 | 4))
    assert (hot.state, hot.why) == ("throttled", "thermal limit (software)")
    assert thermal_state(sampled(85, bits=4)).state == "settled"
    bits = Channel(name=THROTTLE, values=frozen([0.0, 64.0, 0.0]))
    timed = Telemetry(time_ms=frozen([0.0, 100.0, 200.0]), channels=(bits,))
    found = thermal_state(sampled(85, timed=timed))
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


def readings(watts: float, step_ms: float, every_ms: float, until_ms: float, offset_ms: float):
    """A counter that is told anew every `step_ms`, read every `every_ms`."""
    time_ms = np.arange(0.0, until_ms, every_ms) + offset_ms
    return time_ms, np.rint(1e6 + watts * (np.floor(time_ms / step_ms) * step_ms))


@pytest.mark.parametrize(("step_ms", "every_ms"), [(20, 100), (100, 100), (130, 100), (500, 100)])
def test_the_interval_covers_the_truth_as_often_as_it_says(step_ms, every_ms) -> None:
    draws = np.random.default_rng(5)
    covered = []
    for _ in range(200):
        start, offset = draws.uniform(0, 400), draws.uniform(0, every_ms)
        time_ms, energy = readings(250.0, step_ms, every_ms, 6_000, offset)
        found = of_counter(time_ms, energy, start, start + 5_000)
        covered.append(abs(found.watts - 250.0) <= 1.96 * found.uncertainty_w + 1e-9)
        assert found.uncertainty_w / 250.0 < 0.05
    assert np.mean(covered) >= 0.95


def test_the_interval_narrows_with_the_stretch_and_widens_with_the_steps() -> None:
    time_ms, energy = readings(250.0, 100, 100, 61_000, 3.0)
    short = of_counter(time_ms, energy, 0, 2_000)
    assert of_counter(time_ms, energy, 0, 60_000).uncertainty_w < short.uncertainty_w / 20
    time_ms, energy = readings(250.0, 100, 50, 5_000, 0.0)
    found = of_counter(time_ms, energy, 0, 5_000)
    assert (found.step_mj, found.step_ms) == (25_000, pytest.approx(100))
    time_ms, energy = readings(250.0, 20, 100, 3_000, 0.0)
    fine = of_counter(time_ms, energy, 0, 3_000)
    coarse = of_counter(time_ms, np.floor(energy / 2_000) * 2_000, 0, 3_000)
    assert coarse.uncertainty_w > fine.uncertainty_w


def test_a_counter_that_stands_still_or_falls_tells_nothing() -> None:
    time_ms = np.arange(0.0, 1_000, 100)
    assert of_counter(time_ms, np.full(10, 7.0), 0, 1_000) is None
    assert of_counter(time_ms, np.r_[np.arange(5.0), np.arange(5.0)], 0, 1_000) is None
    assert of_counter(time_ms, np.full(10, np.nan), 0, 1_000) is None


def test_readings_are_weighted_by_their_time_within_the_stretch() -> None:
    time_ms = np.arange(0.0, 4_000, 100)
    found = of_power(time_ms, np.where(time_ms < 2_000, 70.0, 400.0), 2_000, 4_000)
    assert (found.watts, found.method) == (400.0, "power")
    time_ms = np.array([0.0, 100, 200, 1_000])
    found = of_power(time_ms, np.array([100.0, 100, np.nan, 200]), 0, 1_000)
    assert found.watts == pytest.approx((100 * 100 + 150 * 900) / 1_000)
    assert of_power(time_ms, np.array([100.0, np.nan, np.nan, np.nan]), 0, 1_000) is None
    fresh = np.random.default_rng(1).normal(100, 5, 20)
    assert scatter_w(np.repeat(fresh, 10)) == pytest.approx(scatter_w(fresh), rel=0.05)
    assert scatter_w(np.array([1.0, 1.0, 3.0, 3.0])) == pytest.approx(np.sqrt(4 / 3) / np.sqrt(2))
    assert scatter_w(np.array([3.0])) == 0


def test_counters_and_power_by_hand() -> None:
    """Steps of one and two units of 20 J, seen over readings of uneven distance."""
    time_ms = np.array([0.0, 50, 200, 300, 500])
    found = of_counter(time_ms, np.array([0.0, 20_000, 20_000, 60_000, 100_000]), 0, 500)
    span_ms, spent_mj = 400 - 25, 80_000  # from the middle of the first step to that of the last
    late_ms, coarse_mj = np.sqrt((50**2 + 200**2) / 12), 20_000 * np.sqrt(2 / 12)
    assert found.method == "counter"
    assert (found.duration_ms, found.changes) == (span_ms, 3)
    assert found.watts == pytest.approx(spent_mj / span_ms)
    relative = np.hypot(late_ms / span_ms, coarse_mj / spent_mj)
    assert found.uncertainty_w == pytest.approx(found.watts * relative)
    assert (found.step_mj, found.step_ms) == (40_000, pytest.approx((225 + 150) / 2))
    time_ms = np.array([0.0, 100, 200])
    found = of_counter(time_ms, np.array([0.0, 10_000, 20_000]), 0, 200)
    assert found.changes == 2
    assert of_counter(time_ms, np.array([0.0, 10_000, 20_000]), 1, 200) is None
    assert of_counter(time_ms, np.array([0.0, 10_000, 20_000]), 0, 199) is None
    found = of_power(np.array([0.0, 100, 200]), np.array([100.0, 300, 200]), 0, 200)
    assert (found.watts, found.duration_ms, found.changes) == (225, 200, 2)
    assert found.uncertainty_w == pytest.approx(100 / np.sqrt(3))
    two = of_power(np.array([0.0, 100]), np.array([100.0, 200]), 0, 100)
    assert (two.watts, two.uncertainty_w) == (150, pytest.approx(50))


def series(name, values) -> Telemetry:
    channel = Channel(name=name, values=frozen(values))
    return Telemetry(time_ms=frozen(range(len(values))), channels=(channel,))


def test_before_during_and_after() -> None:
    found = clock_around(series(SM_CLOCK, [1980, 1900, 1700, 1800, 1850]))
    assert (found.before_mhz, found.during_mhz, found.after_mhz) == (1980, 1800, 1850)
    assert (found.lowest_mhz, found.highest_mhz, found.readings) == (1700, 1980, 5)
    assert found.drop_pct == pytest.approx(100 * (1 - 1800 / 1980))
    found = clock_around(series(SM_CLOCK, [1200, 1980, 1980]))
    assert found.drop_pct == 0
    for values in ([], [1980], [np.nan, 1980, np.nan]):
        assert clock_around(series(SM_CLOCK, values)) is None
    assert (clock_around(series("other", [1980, 1900])), clock_around(None)) == (None, None)


def test_reasons_by_how_often_they_were_read() -> None:
    found = held_by(series(THROTTLE, [4, 4 | 64, 0, np.nan, 4]))
    assert [(one.reason.name, one.share_pct) for one in found] == [
        ("sw_power_cap", 75.0),
        ("hw_thermal", 25.0),
    ]
    assert (held_by(series(THROTTLE, [np.nan])), held_by(None)) == ((), ())
