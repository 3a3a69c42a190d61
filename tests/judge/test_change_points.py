from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.judge.comparison.change_points import (
    change_points,
    cut,
    newest_against_level,
    noise_of,
    penalty_of,
)


def series(*stretches: tuple[float, int], noise: float = 0.005, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    levels = np.concatenate([np.full(count, level) for level, count in stretches])
    return levels * np.exp(noise * draw.standard_normal(levels.size))


def sure(values, threshold_pct: float = 2.0) -> list[int]:
    return [one.at for one in change_points(values, threshold_pct=threshold_pct) if one.is_sure]


@pytest.mark.parametrize("seed", range(5))
def test_planted_changes_are_found_and_a_steady_series_has_none(seed) -> None:
    assert sure(series((4.0, 20), (4.3, 15), (3.9, 20), seed=seed)) == [20, 35]
    assert change_points(series((4.0, 60), seed=seed), threshold_pct=2.0) == ()


def test_what_counts_as_a_change_and_with_which_interval() -> None:
    values = series((4.0, 30), (4.06, 30), noise=0.002)
    assert (sure(values, 2.0), sure(values, 1.0)) == ([], [30])
    values = series((4.0, 40))
    values[[7, 20, 21, 33]] *= 1.5
    assert sure(values) == []
    values = series((4.0, 6), (4.5, 1))
    (one,) = change_points(values, threshold_pct=2.0)
    assert (one.at, one.is_sure) == (6, False)
    assert one.estimate.ratio == pytest.approx(1.125, rel=0.02)
    (one,) = change_points(series((4.0, 12), (4.4, 12)), threshold_pct=2.0)
    assert one.estimate.interval.confidence == 0.99
    assert one.estimate.interval.low > 1.05


def test_equal_values_have_no_noise_and_the_noise_is_not_that_of_the_levels() -> None:
    for few in ([4.0], [4.0, 4.1], [4.0, 4.0, 4.0], [1.0, 2.0, 3.0]):
        assert sure(few) == []
    assert change_points([4.0] * 30, threshold_pct=2.0) == ()
    assert sure([4.0] * 10 + [4.4] * 10) == [10]
    for wrong in ([1.0, 0.0], []):
        with pytest.raises(UsageError):
            change_points(wrong, threshold_pct=2.0)
    values = np.log(series((1.0, 200)))
    assert penalty_of(10 * values) == pytest.approx(100 * penalty_of(values))
    twice = penalty_of(np.tile(values, 2)) / penalty_of(values)
    assert twice == pytest.approx(np.log(400) / np.log(200), rel=0.05)
    quiet, stepped = series((4.0, 60)), series((4.0, 30), (8.0, 30))
    assert noise_of(np.log(stepped)) == pytest.approx(noise_of(np.log(quiet)), rel=0.1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 60), st.integers(1, 4))
def test_cuts_are_those_of_pelt(seed, size, steps) -> None:
    ruptures = pytest.importorskip("ruptures")
    draw = np.random.default_rng(seed)
    values = (
        draw.standard_normal(size)
        + np.repeat(draw.normal(scale=4, size=steps), -(-size // steps))[:size]
    )
    penalty = penalty_of(values)
    # PELT prunes before the least length is reached; all ways to cut are what it stands for
    found = cut(values, penalty)
    theirs = ruptures.Dynp(model="l2", min_size=2, jump=1).fit(values)
    if found:
        assert list(found) == theirs.predict(n_bkps=len(found))[:-1]
    cost = ruptures.costs.CostL2().fit(values.reshape(-1, 1))

    def total(cuts) -> float:
        ends = [0, *cuts, size]
        return sum(cost.error(a, b) for a, b in pairwise(ends)) + penalty * len(cuts)

    pelt = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(values).predict(pen=penalty)
    assert total(found) <= total(pelt[:-1]) + 1e-9


def test_false_changes_are_few() -> None:
    draw = np.random.default_rng(7)
    noises = (
        draw.standard_normal,
        lambda n: 0.6 * draw.standard_t(2, n),
        lambda n: draw.standard_normal(n) * np.where(draw.random(n) < 0.05, 6, 1),
    )
    count = 0
    for _ in range(40):
        for noise in noises:
            count += bool(sure(4 * np.exp(0.01 * noise(40)), 1.0))
    assert count <= 0.08 * 40 * len(noises)


@pytest.mark.parametrize("before", [4, 10, 40])
def test_the_newest_of_an_equal_level_hardly_ever_differ(before: int) -> None:
    """The interval is of 99 %; it is finite, so that it says something."""
    missed = 0
    for seed in range(300):
        found = newest_against_level(list(series((4.0, before + 2), noise=0.02, seed=seed)), 0)
        assert found.interval is not None
        missed += not found.interval.low <= 1 <= found.interval.high
    assert missed <= 9


def test_too_few_of_a_level_are_compared_with_nothing() -> None:
    assert newest_against_level([4.0] * 3, 0) is None
    assert newest_against_level([4.0] * 4, 0) is None  # no interval of 99 %
    assert newest_against_level([4.0] * 9 + [5.0] * 3, 9) is None
    found = newest_against_level([4.0] * 9 + [5.0] * 7, 9)
    assert (found.ratio, found.n_a, found.n_b) == (1.0, 5, 2)
