from __future__ import annotations

import numpy as np
import pytest

from enginescope.core.errors import UsageError
from enginescope.judge.stats.stability import two_modes
from tests.judge.draws import two_levels

ONE_MODE = {
    "uniform": lambda rng, n: 1 + 0.1 * rng.random(n),
    "normal": lambda rng, n: 1 + 0.02 * rng.standard_normal(n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "exponential": lambda rng, n: 1 + 0.1 * rng.exponential(size=n),
    "t2": lambda rng, n: 10 + 0.1 * rng.standard_t(2, n),
    "quantised": lambda rng, n: np.round(1 + 0.02 * rng.standard_normal(n), 2),
    "two steps of a clock": lambda rng, n: 1 + 0.02 * (rng.random(n) < 0.4),
    "three steps of a clock": lambda rng, n: (
        np.round((1 + 0.02 * rng.standard_normal(n)) * 30) / 30
    ),
    "drifting": lambda rng, n: 1 + 0.1 * np.arange(n) / n + 0.002 * rng.standard_normal(n),
    "spikes": lambda rng, n: np.where(rng.random(n) < 0.05, 2, 1) + 0.01 * rng.standard_normal(n),
}


@pytest.mark.parametrize("n", [100, 1000, 10_000])
@pytest.mark.parametrize("kind", ONE_MODE)
def test_one_mode_is_not_two(kind: str, n: int) -> None:
    rng = np.random.default_rng(1)
    fired = [two_modes(ONE_MODE[kind](rng, n)) is not None for _ in range(40)]
    assert np.mean(fired) <= 0.05


@pytest.mark.parametrize("n", [100, 1000, 10_000])
def test_two_levels_are_found_and_described(n: int) -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        found = two_modes(two_levels(rng, n))
        assert found.low == pytest.approx(1.0, abs=0.003)
        assert found.high == pytest.approx(1.05, abs=0.004)
        assert found.low < found.valley < found.high
        assert found.share_high == pytest.approx(0.3, abs=0.15)


def test_order_and_unit_do_not_matter() -> None:
    values = two_levels(np.random.default_rng(3), 1000)
    found, again = two_modes(values), two_modes(np.sort(values) * 1024)
    assert again.low == 1024 * found.low
    assert again.valley == pytest.approx(1024 * found.valley)


def test_spikes_beside_two_levels_do_not_hide_them() -> None:
    rng = np.random.default_rng(4)
    values = np.where(rng.random(5000) < 0.01, 40.0, two_levels(rng, 5000))
    assert two_modes(values).high == pytest.approx(1.05, abs=0.003)


def test_a_few_samples_elsewhere_are_no_mode() -> None:
    assert two_modes(two_levels(np.random.default_rng(5), 2000, share=0.05)) is None


def test_levels_a_hair_apart_are_not_worth_a_word() -> None:
    rng = np.random.default_rng(6)
    values = np.where(rng.random(2000) < 0.3, 1.003, 1.0) + 0.0002 * rng.standard_normal(2000)
    assert two_modes(values) is None


def test_too_few_or_equal_values_have_no_modes() -> None:
    assert two_modes(two_levels(np.random.default_rng(7), 99)) is None
    assert two_modes(np.full(500, 2.0)) is None


def test_no_values_are_refused() -> None:
    with pytest.raises(UsageError):
        two_modes([])
