import numpy as np
import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.trtexec.exported_times import clock_step_ms, on_the_clock, parse_times
from enginescope.judge.samples import Samples
from tests.formats.times import encoded, record, records


def read(value: object, warmup_ms: float | None = None) -> dict[str, Samples]:
    times, _ = parse_times(encoded(value), "t.json", warmup_ms=warmup_ms)
    return {one.metric: one for one in times.samples}


def test_every_metric_and_the_wall_time() -> None:
    found = read(records(4))
    assert list(found) == ["trtexec_latency", "gpu_compute", "h2d", "d2h", "enqueue"]
    assert found["trtexec_latency"].values_ms.tolist() == [1.5, 1.75, 2.0, 1.5]
    assert found["h2d"].values_ms.tolist() == [0.0] * 4
    assert found["gpu_compute"].start_ms.tolist() == [0.0, 2.0, 4.0, 6.0]
    np.testing.assert_allclose(found["enqueue"].values_ms, 0.01, rtol=1e-6)
    assert not found["h2d"].values_ms.flags.writeable
    times, _ = parse_times(encoded(records(4)), "t.json")
    assert times.wall_ms == 206.0 + 1.5 - 200.0


def test_end_to_end_times_and_warm_up_of_old_versions() -> None:
    found = read([record(0.0, 1.0, endToEndMs=1.9), record(2.0, 1.0, endToEndMs=2.1)])
    assert found["end_to_end"].values_ms.tolist() == [1.9, 2.1]
    found = read(records(10, first_ms=193.0), warmup_ms=200.0)
    latency = found["trtexec_latency"]
    assert len(latency) == 6
    assert latency.warmup_ms.tolist() == [1.5, 1.75, 2.0, 1.5]
    assert latency.start_ms[0] == 0.0
    assert len(read(records(5, first_ms=1.0), warmup_ms=500.0)["trtexec_latency"]) == 5


@pytest.mark.parametrize("warmup_ms", [None, 0.0, 200.0])
def test_files_without_warm_up_are_left_alone(warmup_ms) -> None:
    latency = read(records(5), warmup_ms=warmup_ms)["trtexec_latency"]
    assert len(latency) == 5
    assert latency.warmup_ms is None


ROWS = [{"latencyMs": 1.0, "computeMs": 0.5}, {"latencyMs": 2.0, "computeMs": 1.5}]


def rows(latency: str, compute: str, *values: tuple[float, float]) -> list[dict[str, float]]:
    return [{latency: whole, compute: part} for whole, part in values]


@pytest.mark.parametrize(
    "value",
    [
        {"times": ROWS},
        {"perIteration": ROWS},
        {"meta": {"n": 2}, "result": {"times": ROWS}},
        {"perIteration": {"0": ROWS[0], "1": ROWS[1]}},
        [{"i": 0, "timing": ROWS[0]}, {"i": 1, "timing": ROWS[1]}],
        {"latencyMs": [1.0, 2.0], "computeMs": [0.5, 1.5]},
        {"latency": [1.0, 2.0], "compute": [0.5, 1.5], "unit": "ms"},
        {"unit": "us", "times": rows("latency", "compute", (1000, 500), (2e3, 1500))},
        rows("latency_us", "compute_us", (1000.0, 500.0), (2000.0, 1500.0)),
        rows("latency_ns", "compute_ns", (1_000_000, 500_000), (2e6, 1.5e6)),
        rows("latency_seconds", "compute_s", (0.001, 5e-4), (0.002, 1.5e-3)),
    ],
)
def test_nestings_and_units(value) -> None:
    found = read(value)
    np.testing.assert_allclose(found["trtexec_latency"].values_ms, [1.0, 2.0])
    np.testing.assert_allclose(found["gpu_compute"].values_ms, [0.5, 1.5])


@pytest.mark.parametrize(
    "value",
    [
        [1.0, 2.0],
        {"times": [1.0, 2.0]},
        {"latency": [1.0, 2.0], "unit": "furlongs"},
        [{"latency": 1.0}],
        {"perIteration": [{"latency": 1.0, "i": 0}]},
    ],
)
def test_units_are_never_guessed(value) -> None:
    with pytest.raises(FormatError, match="the unit of the times is unknown") as caught:
        parse_times(encoded(value), "t.json")
    assert "latencyMs" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "value", [[], {}, {"a": 1}, ["x"], [{"a": 1}], 3, {"latencyMs": ["x"]}, [[]]]
)
def test_what_holds_no_times(value) -> None:
    with pytest.raises(FormatError, match="no times in it"):
        parse_times(encoded(value), "t.json")


def test_whole_records_are_kept() -> None:
    damaged = [*records(3), {"latencyMs": 1.0}, "junk", {**record(9.0, 1.0), "computeMs": None}]
    times, notices = parse_times(encoded(damaged), "t.json")
    assert len(times.samples[0]) == 3
    assert (notices[0].code, notices[0].evidence["left_out"]) == ("W-RECORDS", 3)
    times, notices = parse_times(encoded(records(5))[:-40], "t.json")
    assert (len(times.samples[0]), notices[0].code) == (4, "W-TRUNCATED")


@pytest.mark.parametrize(("first_ms", "step_ms"), [(300.0, 0.001), (4000.0, 0.01), (20_000.0, 0.1)])
def test_how_coarse_enqueue_times_are(first_ms, step_ms) -> None:
    _, notices = parse_times(encoded(records(5, first_ms=first_ms)), "t.json")
    (notice,) = [one for one in notices if one.code == "I-ENQUEUE-RESOLUTION"]
    assert notice.evidence["step_ms"] == pytest.approx(step_ms)


def printed(values: np.ndarray) -> np.ndarray:
    return np.array([float(f"{value:.6g}") for value in values])


def test_a_step_shows_in_thirty_two_values_of_three_kinds() -> None:
    steps = np.resize([3.0, 4.0, 5.0], 32) * 2.0**-10
    found = [clock_step_ms(one) for one in (steps, steps[:31], np.resize(steps[:2], 32))]
    assert found == [2.0**-10, None, None]
    assert (on_the_clock(printed(steps)) == steps).all()


@pytest.mark.parametrize("power", [10, 11, 12, 14])
def test_the_step_of_printed_floats(power) -> None:
    exact = np.random.default_rng(1).integers(600, 640, 400) * 2.0**-power
    assert clock_step_ms(printed(exact)) == 2.0**-power
    np.testing.assert_array_equal(on_the_clock(printed(exact)), exact)


def test_the_end_of_the_run_decides() -> None:
    rng = np.random.default_rng(2)
    early = rng.integers(2000, 2100, 300) * 2.0**-14
    late = rng.integers(500, 530, 300) * 2.0**-12
    assert clock_step_ms(printed(np.concatenate([early, late]))) == 2.0**-12


@pytest.mark.parametrize(
    "values",
    [
        *([], [0.5] * 100, [0.0] * 100, [0.25, 0.5, 0.75]),
        np.random.default_rng(3).normal(4.0, 0.1, 500),
    ],
)
def test_no_step_shows(values) -> None:
    assert clock_step_ms(np.array(values)) is None
    np.testing.assert_array_equal(on_the_clock(np.array(values)), values)


def test_six_digits_are_coarser_than_any_step() -> None:
    values = np.random.default_rng(4).integers(10**5, 10**6, 200).astype(float)
    assert clock_step_ms(values * 1e3) in (None, 1.0)
