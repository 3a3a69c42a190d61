from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from enginescope.core.errors import UsageError
from enginescope.stats import bootstrap
from enginescope.stats.bootstrap import quantile_interval
from enginescope.stats.percentile import percentile
from tests.stats.draws import ar1, two_levels

SERIES = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).lognormal(sigma=0.2, size=60 + seed % 400)
)


def coverage(
    draw: Callable[[np.random.Generator], np.ndarray], truth: float, series: int, q: float = 0.5
) -> tuple[float, float]:
    """The share of the intervals that hold the truth, and the share of series given one."""
    rng = np.random.default_rng(11)
    found = [quantile_interval(draw(rng), q) for _ in range(series)]
    given_one = [one for one in found if one is not None]
    return (
        sum(one.low <= truth <= one.high for one in given_one) / max(1, len(given_one)),
        len(given_one) / series,
    )


# Bounds: three standard errors of a coverage of 95 % at that many series.
@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.standard_normal(n),
        lambda rng, n: rng.standard_t(2, n),
        lambda rng, n: rng.lognormal(size=n) - 1,
    ],
    ids=["normal", "t2", "lognormal"],
)
def test_interval_covers_the_median_of_independent_samples(draw, n: int) -> None:
    share, given_one = coverage(lambda rng: draw(rng, n), 0.0, 800)
    assert 0.927 <= share <= 0.973
    assert given_one == 1.0


@pytest.mark.parametrize(("phi", "n", "least"), [(0.5, 300, 1.0), (0.9, 1000, 0.99)])
def test_interval_covers_the_median_of_dependent_samples(phi, n, least) -> None:
    share, given_one = coverage(lambda rng: ar1(rng, n, phi), 0.0, 400)
    assert 0.917 <= share <= 0.983  # as if independent: 81 % and 42 %
    assert given_one >= least


def test_interval_covers_the_median_of_two_levels() -> None:
    low = stats.norm(1, 0.005)
    exact = low.ppf(0.5 / 0.7)  # the upper level is too far to count
    assert coverage(lambda rng: two_levels(rng, 500), exact, 400)[0] == pytest.approx(
        0.95, abs=0.033
    )


@pytest.mark.parametrize("q", [0.9, 0.99])
def test_interval_covers_a_tail(q: float) -> None:
    share, given_one = coverage(lambda rng: rng.standard_normal(1500), stats.norm.ppf(q), 500, q)
    assert 0.92 <= share <= 0.98
    assert given_one > 0.99


def test_a_series_no_longer_than_its_own_wandering_has_no_interval() -> None:
    """Two times the samples' own autocorrelation time: nothing can be said, and nothing is."""
    share, given_one = coverage(lambda rng: ar1(rng, 400, 0.99), 0.0, 100)
    assert given_one * (1 - share) < 0.06
    assert given_one < 0.1


def test_interval_of_independent_samples_is_near_the_exact_one() -> None:
    """The binomial interval; ours is wider for blocks of a twelfth."""
    rng = np.random.default_rng(12)
    ratios = []
    for _ in range(100):
        values = rng.standard_normal(600)
        exact = stats.quantile_test(values, q=0, p=0.5).confidence_interval(0.95)
        ours = quantile_interval(values, 0.5)
        ratios.append((ours.high - ours.low) / (exact.high - exact.low))
    assert 1.05 < np.mean(ratios) < 1.2


def test_closed_form_is_the_scatter_of_drawn_blocks() -> None:
    """The standard error against a moving block bootstrap that does draw."""
    rng = np.random.default_rng(13)
    below = (ar1(rng, 2000, 0.9) <= 0).astype(float)
    length = 100
    starts = rng.integers(0, below.size - length + 1, size=(4000, below.size // length))
    sums = np.concatenate(([0.0], np.cumsum(below)))
    means = (sums[starts + length] - sums[starts]).sum(axis=1) / (starts.shape[1] * length)
    ours = (bootstrap._long_run_variance(below, length) / below.size) ** 0.5
    assert ours == pytest.approx(means.std(), rel=0.1)


def test_variance_over_blocks_is_bartletts_kernel() -> None:
    values = np.random.default_rng(14).standard_normal(50)
    distance = values - values.mean()
    lags = [float(distance[k:] @ distance[: 50 - k]) / 50 for k in range(7)]
    bartlett = lags[0] + 2 * sum((1 - k / 7) * lags[k] for k in range(1, 7))
    assert bootstrap._long_run_variance(values, 7) == pytest.approx(bartlett)


@pytest.mark.parametrize(
    ("confidence", "normal"), [(0.8, 1.2816), (0.9, 1.6449), (0.95, 1.96), (0.98, 2.3263)]
)
def test_critical_value_of_a_vanishing_block_is_the_normal_one(confidence, normal) -> None:
    assert bootstrap._critical(0.0, confidence) == pytest.approx(
        stats.norm.ppf(0.5 + confidence / 2), abs=1e-3
    )
    assert bootstrap._critical(0.0, confidence) == pytest.approx(normal)


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95, 0.98])
def test_critical_values_are_those_of_simulated_series(confidence: float) -> None:
    rng = np.random.default_rng(15)
    n, length = 200, 40
    ratios = []
    for _ in range(4000):
        values = rng.standard_normal(n)
        error = (bootstrap._long_run_variance(values, length) / n) ** 0.5
        ratios.append(abs(values.mean()) / error)
    assert np.quantile(ratios, confidence) == pytest.approx(
        bootstrap._critical(length / n, confidence), rel=0.07
    )


@given(SERIES, st.sampled_from([0.25, 0.5, 0.9]))
def test_interval_holds_the_estimate_and_its_ends_are_samples(values, q: float) -> None:
    found = quantile_interval(values, q)
    if found is not None:
        assert found.low <= percentile(values, 100 * q) <= found.high
        assert found.low <= np.quantile(values, q) <= found.high
        assert {found.low, found.high} <= set(values.tolist())


@given(SERIES, st.integers(-20, 20))
def test_interval_scales_with_the_values(values, power: int) -> None:
    found = quantile_interval(values, 0.5)
    scaled = quantile_interval(values * 2.0**power, 0.5)
    assert (found is None) == (scaled is None)
    if found is not None:
        assert (scaled.low, scaled.high) == (found.low * 2.0**power, found.high * 2.0**power)


@given(SERIES)
def test_interval_is_the_same_on_a_monotone_scale(values) -> None:
    found = quantile_interval(values, 0.5)
    logs = quantile_interval(np.log(values), 0.5)
    assert (found is None) == (logs is None)
    if found is not None:
        assert logs.low == np.log(found.low)
        assert logs.high == np.log(found.high)


@given(SERIES)
def test_more_confidence_is_a_wider_interval(values) -> None:
    found = [quantile_interval(values, 0.5, confidence=one) for one in (0.8, 0.9, 0.95, 0.98)]
    known = [one for one in found if one is not None]
    assert found[: len(known)] == known
    assert all(a.low >= b.low and a.high <= b.high for a, b in itertools.pairwise(known))


def test_equal_input_gives_equal_output() -> None:
    values = np.random.default_rng(16).standard_normal(500)
    assert quantile_interval(values, 0.5) == quantile_interval(values.copy(), 0.5)


def test_order_matters() -> None:
    """What an interval for independent samples would not see."""
    values = ar1(np.random.default_rng(17), 2000, 0.9)
    shuffled = np.random.default_rng(18).permutation(values)
    ours, naive = quantile_interval(values, 0.5), quantile_interval(shuffled, 0.5)
    assert ours.high - ours.low > 2 * (naive.high - naive.low)


def test_a_constant_series_is_exact_when_it_is_long_enough() -> None:
    found = quantile_interval(np.full(100, 2.0), 0.5)
    assert (found.low, found.high) == (2.0, 2.0)
    assert quantile_interval(np.full(100, 2.0), 0.99) is None
    assert quantile_interval(np.full(1000, 2.0), 0.99) is not None


def test_exact_alternation_does_not_make_an_interval_of_nothing() -> None:
    found = quantile_interval(np.tile([1.0, 2.0], 200), 0.5)
    assert (found.low, found.high) == (1.0, 2.0)


def test_most_values_equal_the_greatest() -> None:
    values = np.where(np.random.default_rng(19).random(400) < 0.2, 1.0, 2.0)
    found = quantile_interval(values, 0.5)
    assert (found.low, found.high) == (2.0, 2.0)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_fewer_than_ten_samples_have_no_interval(n: int) -> None:
    assert quantile_interval(np.arange(float(n)), 0.5) is None


def test_p99_of_too_few_samples_has_no_interval() -> None:
    rng = np.random.default_rng(20)
    assert quantile_interval(rng.standard_normal(300), 0.99) is None
    assert quantile_interval(rng.standard_normal(300), 0.01) is None


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1, 50])
def test_quantile_out_of_range_is_refused(q: float) -> None:
    with pytest.raises(UsageError, match="outside"):
        quantile_interval(np.arange(100.0), q)


def test_confidence_without_a_critical_value_is_refused() -> None:
    with pytest.raises(UsageError, match="not tabulated") as caught:
        quantile_interval(np.arange(100.0), 0.5, confidence=0.97)
    assert caught.value.hint == "one of 0.8, 0.9, 0.95, 0.98"


def test_values_that_are_not_finite_are_refused() -> None:
    with pytest.raises(UsageError, match="sample 0 is nan"):
        quantile_interval([np.nan] * 20, 0.5)
