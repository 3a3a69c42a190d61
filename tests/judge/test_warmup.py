import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.judge.stats.warmup import is_steady
from tests.judge.draws import ar1


def share_steady(draw, seed: int = 1, times: int = 100) -> float:
    rng = np.random.default_rng(seed)
    return float(np.mean([is_steady(draw(rng)) for _ in range(times)]))


@pytest.mark.parametrize("n", [10, 40, 300])
@pytest.mark.parametrize("spread", [0.002, 0.01])
def test_flat_noise_passes_at_once(spread: float, n: int) -> None:
    assert share_steady(lambda rng: 5 * (1 + spread * rng.standard_normal(n))) >= 0.85


def test_flat_noise_with_spikes_wandering_noise_and_a_start_up_long_over_pass() -> None:

    def draw(rng: np.random.Generator) -> np.ndarray:
        spikes = (rng.random(100) < 0.05) * rng.exponential(1, 100)
        return 1 + 0.01 * rng.standard_normal(100) + spikes

    assert share_steady(draw) >= 0.9
    assert share_steady(lambda rng: 1 + 0.02 * ar1(rng, 1000, 0.9)) >= 0.85
    done = 1 + np.exp(-np.arange(600) / 30)
    assert share_steady(lambda rng: done + 0.01 * rng.standard_normal(600)) >= 0.95


@pytest.mark.parametrize(("n", "time"), [(10, 20), (40, 20), (100, 100), (300, 100), (1000, 500)])
def test_a_start_up_that_still_falls_is_caught(n: int, time: float) -> None:
    falling = 1 + np.exp(-np.arange(n) / time)
    assert share_steady(lambda rng: falling + 0.01 * rng.standard_normal(n)) <= 0.05


def test_a_slow_rise_and_a_late_step_are_caught_and_equal_times_are_steady() -> None:
    rising = 1 + 0.1 * np.arange(400) / 400
    assert share_steady(lambda rng: rising + 0.01 * rng.standard_normal(400)) == 0.0
    assert not is_steady(np.append(np.full(75, 1.0), np.full(25, 0.9)))
    assert is_steady(np.full(10, 1_234_567, dtype=np.int64)) is True
    values = np.random.default_rng(2).lognormal(sigma=0.05, size=60)
    assert is_steady(values) == is_steady(values * 2.0**20)
    with pytest.raises(UsageError, match="warm-up times: 0 values"):
        is_steady([])
    with pytest.raises(UsageError, match="sample 3 is inf"):
        is_steady([1.0, 1.0, 1.0, np.inf])


@given(st.lists(st.floats(0.5, 2), min_size=1, max_size=9))
def test_fewer_than_ten_are_never_steady(values: list[float]) -> None:
    assert is_steady(values) is False
