from __future__ import annotations

import numpy as np
import pytest

from enginescope.core.errors import UsageError
from enginescope.judge.stats.stability import drift
from tests.judge.draws import ar1


def noise(seed: int, n: int) -> np.ndarray:
    return 0.01 * np.random.default_rng(seed).standard_normal(n)


def test_a_ramp_is_found_with_its_size() -> None:
    found = drift(5 * (1 + 0.06 * np.arange(900) / 900 + noise(1, 900)))
    assert found.change_pct == pytest.approx(4.0, abs=0.5)  # between the middles of the thirds
    assert found.first == pytest.approx(5 * 1.01, rel=0.003)
    assert found.last == pytest.approx(5 * 1.05, rel=0.003)
    assert 0 < found.noise_pct < 1


@pytest.mark.parametrize(("late_slope", "noise_pct"), [(1, 0.02), (4, 0.08)])
def test_a_straight_or_broken_line_is_no_noise(late_slope: float, noise_pct: float) -> None:
    """What scatters about lines through the thirds is the noise, at the ends of the series too."""
    place = np.arange(900)
    line = 1 + 0.1 * (place + (late_slope - 1) * np.maximum(place - 450, 0)) / 900
    jitter = 0.0002 * np.random.default_rng(8).standard_normal(900)
    assert drift(line + jitter).noise_pct < noise_pct


def test_a_fall_at_the_start_is_found_and_negative() -> None:
    found = drift(1 + 0.2 * np.exp(-np.arange(900) / 300) + noise(2, 900))
    assert found.change_pct < -8


def test_a_flat_series_does_not_drift() -> None:
    assert all(drift(1 + noise(seed, 300)) is None for seed in range(50))


def test_wandering_is_seldom_called_drift() -> None:
    rng = np.random.default_rng(3)
    alarms = [drift(1 + 0.03 * ar1(rng, 1500, 0.9)) is not None for _ in range(60)]
    assert np.mean(alarms) < 0.15


def test_less_than_one_percent_is_not_worth_a_word() -> None:
    assert drift(1 + 0.01 * np.arange(3000) / 3000 + 0.1 * noise(4, 3000)) is None


def test_a_change_within_the_noise_is_none() -> None:
    rng = np.random.default_rng(5)
    values = 1 + 0.02 * np.arange(60) / 60 + 0.3 * rng.standard_normal(60)
    assert abs(np.median(values[:20]) / np.median(values[-20:]) - 1) > 0.01
    assert drift(values) is None


def test_samples_that_carry_no_interval_show_no_drift() -> None:
    """A slow swing on a slope: what is left of it is a handful of effective samples."""
    i = np.arange(400)
    assert drift(1 + 0.1 * i / 400 + 0.2 * np.sin(i / 400 * 2 * np.pi * 2.5)) is None


def test_few_samples_or_a_level_of_nothing_show_no_drift() -> None:
    assert drift(np.arange(1.0, 30.0)) is None
    assert drift(np.zeros(100)) is None


def test_no_values_are_refused() -> None:
    with pytest.raises(UsageError):
        drift([])
