from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.judge.stats.describe import MAX_BINS, histogram

VALUES = st.one_of(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=100),
    st.lists(st.integers(1, 20).map(float), min_size=1, max_size=100),
)


@given(VALUES, st.one_of(st.none(), st.integers(1, 40)))
def test_every_sample_is_counted_once(values: list[float], bins: int | None) -> None:
    found = histogram(values, bins=bins)
    assert sum(found.counts) + found.n_below + found.n_above == len(values)
    assert len(found.edges_ms) == len(found.counts) + 1
    assert 1 <= len(found.counts) <= (bins or MAX_BINS)
    assert list(found.edges_ms) == sorted(set(found.edges_ms))
    assert max(found.n_below, found.n_above) <= 0.025 * len(values) + 1


def test_width_follows_freedman_and_diaconis() -> None:
    values = np.random.default_rng(1).normal(5, 0.1, 2000)
    width = np.diff(histogram(values).edges_ms)[0]
    exact = np.histogram_bin_edges(values, bins="fd")
    assert width == pytest.approx(exact[1] - exact[0], rel=0.05)


def test_a_spike_does_not_flatten_the_picture() -> None:
    values = np.append(np.random.default_rng(2).normal(5, 0.1, 400), 50.0)
    found = histogram(values)
    assert found.n_above == 1
    assert found.n_below == 0
    assert found.edges_ms[-1] < 6
    assert len(found.counts) >= 8


def test_a_second_level_is_no_outlier() -> None:
    rng = np.random.default_rng(3)
    values = np.where(rng.random(2000) < 0.1, 2.0, 1.0) + 0.005 * rng.standard_normal(2000)
    found = histogram(values)
    assert found.edges_ms[-1] > 2
    assert found.n_above < 60


@pytest.mark.parametrize("bins", [None, 24])
def test_steps_of_a_clock_make_no_gaps(bins: int | None) -> None:
    rng = np.random.default_rng(4)
    for step in (0.0078125, 0.03, 0.1):
        values = np.round(rng.normal(5, 0.1, 5000) / step) * step
        found = histogram(values, bins=bins)
        middle = found.counts[len(found.counts) // 4 : 3 * len(found.counts) // 4]
        assert min(middle) > 0


@pytest.mark.parametrize("bins", [None, 40])
def test_a_sum_of_two_clocks_makes_no_comb(bins: int | None) -> None:
    rng = np.random.default_rng(6)
    coarse = np.round(rng.normal(500, 8, 20_000) / 4) * 4
    fine = rng.choice([-1.0, 0.0, 1.0], size=coarse.size, p=[0.15, 0.7, 0.15])
    counts = np.array(histogram((coarse + fine) / 1e3, bins=bins).counts)
    peak = int(counts.argmax())
    assert (np.diff(counts[: peak + 1]) >= -10).all()  # up to the peak, and down from it
    assert (np.diff(counts[peak:]) <= 10).all()


def test_two_levels_of_a_clock_stay_two() -> None:
    rng = np.random.default_rng(7)
    level = np.where(rng.random(5_000) < 0.3, 40, 60)
    counts = histogram((level + np.round(rng.normal(0, 2, 5_000))) / 1e3).counts
    lowest = min(counts[len(counts) // 3 : 2 * len(counts) // 3])
    assert lowest < max(counts) / 10


@pytest.mark.parametrize(("value", "margin"), [(0.0, 0.5), (3.0, 0.015)])
def test_equal_values_fill_one_bin_of_one_percent(value: float, margin: float) -> None:
    found = histogram([value] * 5)
    assert found.counts == (5,)
    assert found.edges_ms == pytest.approx((value - margin, value + margin))


@pytest.mark.parametrize(("bins", "steps"), [(None, 2), (10, 2), (7, 3)])
def test_bins_hold_whole_steps_of_a_clock_in_their_middle(bins: int | None, steps: int) -> None:
    values = np.repeat(np.arange(40.0, 60.0), [10, *([30] * 18), 10])
    found = histogram(values, bins=bins)
    count = -(-20 // steps)
    assert found.edges_ms == pytest.approx(39.5 + steps * np.arange(count + 1))
    assert found.counts[0] == 10 + 30 * (steps - 1)
    assert set(found.counts[1:-1]) == {30 * steps}


def test_columns_for_a_terminal() -> None:
    values = np.random.default_rng(5).lognormal(sigma=0.1, size=1000)
    assert len(histogram(values, bins=16).counts) == 16


def test_no_values_or_no_bins_are_refused() -> None:
    with pytest.raises(UsageError, match="0 values"):
        histogram([])
    with pytest.raises(UsageError, match="at least one"):
        histogram([1.0], bins=0)
