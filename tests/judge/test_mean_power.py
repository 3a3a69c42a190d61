import numpy as np
import pytest

from enginescope.analysis.runs.gpu_state import of_counter, of_power, scatter_w


def readings(watts: float, step_ms: float, every_ms: float, until_ms: float, offset_ms: float):
    """A counter that is told anew every `step_ms`, read every `every_ms`."""
    time_ms = np.arange(0.0, until_ms, every_ms) + offset_ms
    told_ms = np.floor(time_ms / step_ms) * step_ms
    return time_ms, np.rint(1e6 + watts * told_ms)


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
