import itertools
import json
from collections.abc import Callable

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.judge.stats import autocorrelation
from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.judge.stats.describe import percentile
from tests.judge.draws import ar1, two_levels

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
    series = {100: 800, 1000: 400}[n]
    share, given_one = coverage(lambda rng: draw(rng, n), 0.0, series)
    assert 0.95 - 3 * (0.95 * 0.05 / series) ** 0.5 <= share <= 0.99
    assert given_one == 1.0


@pytest.mark.parametrize(("phi", "n", "least"), [(0.5, 300, 1.0), (0.9, 1000, 0.99)])
def test_interval_covers_the_median_of_dependent_samples(phi, n, least) -> None:
    share, given_one = coverage(lambda rng: ar1(rng, n, phi), 0.0, 400)
    assert 0.917 <= share <= 0.995  # as if independent: 81 % and 42 %
    assert given_one >= least


def test_interval_covers_the_median_of_two_levels() -> None:
    exact = scipy.stats.norm(1, 0.005).ppf(0.5 / 0.7)  # the upper level is too far to count
    share, _ = coverage(lambda rng: two_levels(rng, 500), exact, 400)
    assert share == pytest.approx(0.95, abs=0.033)


@pytest.mark.parametrize("q", [0.9, 0.99])
def test_interval_covers_a_tail(q: float) -> None:
    truth = scipy.stats.norm.ppf(q)
    share, given_one = coverage(lambda rng: rng.standard_normal(1500), truth, 500, q)
    assert 0.92 <= share <= 0.99
    assert given_one > 0.99


def test_a_series_no_longer_than_its_own_wandering_has_a_wide_interval_or_none() -> None:
    """Two times the samples' own autocorrelation time."""
    share, given_one = coverage(lambda rng: ar1(rng, 400, 0.99), 0.0, 100)
    assert given_one * (1 - share) < 0.1


def test_intervals_are_near_the_exact_one_and_long_blocks_find_what_noise_hides() -> None:
    """The binomial interval; ours is wider, since twelve batches tell the variance."""
    rng = np.random.default_rng(12)
    ratios = []
    for _ in range(100):
        values = rng.standard_normal(600)
        exact = scipy.stats.quantile_test(values, q=0, p=0.5).confidence_interval(0.95)
        ours = quantile_interval(values, 0.5)
        ratios.append((ours.high - ours.low) / (exact.high - exact.low))
    assert 1.05 < np.mean(ratios) < 1.2
    rng = np.random.default_rng(14)
    values = (0.5 * ar1(rng, 20_000, 0.99) + rng.standard_normal(20_000))[None]
    exact = (0.25 * 199 + 1) / 1.25
    found = autocorrelation.block_time(values, values.var(axis=1))
    assert found[0] == pytest.approx(exact, rel=0.5)
    assert autocorrelation.autoregressive_time(values[0]) < exact / 10
    for phi in (0.0, 0.5, 0.9):  # blocks of any length find the time of a first-order process
        values = ar1(np.random.default_rng(13), 20_000, phi)[None]
        found = autocorrelation.block_time(values, values.var(axis=1))
        assert found[0] == pytest.approx((1 + phi) / (1 - phi), rel=0.5)


def visits(rng: np.random.Generator, n: int, dwell: float) -> np.ndarray:
    """Two levels, 5 % apart, each taken for `dwell` samples on average."""
    high = (np.cumsum(rng.random(n) < 1 / dwell) + rng.integers(2)) % 2
    return 1 + 0.05 * high + 0.005 * rng.standard_normal(n)


@pytest.mark.parametrize(("n", "dwell"), [(200, 10), (500, 35), (1000, 100)])
def test_interval_covers_where_visits_to_a_level_last(n: int, dwell: float) -> None:
    """Each level has half of the samples: the middle between them has to lie within."""
    share, given_one = coverage(lambda rng: visits(rng, n, dwell), 1.025, 200)
    assert share >= 0.9
    assert given_one > 0.95


def test_few_visits_alternation_and_equal_values_do_not_look_precise() -> None:
    """So that the rule of precision goes on measuring."""
    found = quantile_interval(np.repeat([1.0, 1.05, 1.0], (80, 50, 70)) + np.random.default_rng(
        4).normal(0, 0.002, 200), 0.5)  # fmt: skip
    assert found is None or found.half_width_pct > 1
    found = quantile_interval(np.tile([1.0, 2.0], 200), 0.5)
    assert found.low < 1.5 < found.high
    found = quantile_interval(np.where(np.random.default_rng(19).random(400) < 0.2, 1.0, 2.0), 0.5)
    assert 1.5 <= found.low < 2.0 < found.high <= 2.5
    rng = np.random.default_rng(20)
    assert quantile_interval(rng.standard_normal(300), 0.99) is None
    assert quantile_interval(rng.standard_normal(300), 0.01) is None


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_interval_covers_at_any_confidence(confidence: float) -> None:
    rows = np.random.default_rng(15).standard_normal((600, 500))
    found = [quantile_interval(row, 0.5, confidence=confidence) for row in rows]
    share = np.mean([one.low <= 0 <= one.high for one in found])
    assert share == pytest.approx(confidence, abs=0.06)
    assert {one.confidence for one in found} == {confidence}


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
def test_interval_is_the_same_on_a_monotone_scale_and_wider_with_confidence(values) -> None:
    found = quantile_interval(values, 0.5)
    logs = quantile_interval(np.log(values), 0.5)
    assert (found is None) == (logs is None)
    if found is not None:
        assert (logs.low, logs.high) == (np.log(found.low), np.log(found.high))
    found = [quantile_interval(values, 0.5, confidence=one) for one in (0.8, 0.9, 0.95, 0.99)]
    known = [one for one in found if one is not None]
    assert found[: len(known)] == known
    assert all(a.low >= b.low and a.high <= b.high for a, b in itertools.pairwise(known))


def test_equal_input_gives_equal_output_and_order_matters() -> None:
    values = np.random.default_rng(16).standard_normal(500)
    assert quantile_interval(values, 0.5) == quantile_interval(values.copy(), 0.5)
    # What an interval for independent samples would not see.
    values = ar1(np.random.default_rng(17), 2000, 0.9)
    shuffled = np.random.default_rng(18).permutation(values)
    ours, naive = quantile_interval(values, 0.5), quantile_interval(shuffled, 0.5)
    assert ours.high - ours.low > 2 * (naive.high - naive.low)
    assert quantile_interval(np.full(100, 2.0), 0.5) is None
    with pytest.raises(UsageError, match="sample 0 is nan"):
        quantile_interval([np.nan] * 20, 0.5)


@pytest.mark.parametrize("step_share", [0.1, 0.3, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("n", [100, 1_000])
def test_values_that_come_in_steps_are_covered(step_share: float, n: int) -> None:
    rng = np.random.default_rng([n, int(10 * step_share)])
    hits, widths = [], []
    for _ in range(200):
        median = 1_000 + rng.random()
        interval = quantile_interval(np.round(rng.normal(median, step_share, n)), 0.5)
        # all samples on one step show no step: no interval is better than a false one
        if interval is not None:
            hits.append(interval.low <= median <= interval.high)
            widths.append(interval.high - interval.low)
    assert len(hits) > 80
    assert np.mean(hits) >= 0.93
    assert np.median(widths) < 1.3 * (2 * 1.96 * 1.2533 * step_share / n**0.5) + 1.0


@pytest.mark.parametrize("draw", ["exponential", "two levels"])
def test_skewed_values_that_come_in_steps_are_covered(draw: str) -> None:
    rng = np.random.default_rng(3)
    hits = []
    for _ in range(200):
        median = 1_000 + rng.random()
        if draw == "exponential":
            values = median + rng.exponential(1.0, 2_000) - np.log(2)
        else:
            levels = np.where(rng.random(2_000) < 0.3, 2.0, 0.0)
            values = median - 0.283 + levels + 0.5 * rng.standard_normal(2_000)
        interval = quantile_interval(np.round(values), 0.5)
        hits.append(interval.low <= median <= interval.high)
    assert np.mean(hits) >= 0.93


def test_the_interval_of_a_recorded_trace_is_no_point(shared) -> None:
    path = shared / "trex-examples" / "resnet18-a100-qat-residual.engine.timing.json"
    times = [query["computeMs"] for query in json.loads(path.read_text())]
    interval = quantile_interval(times, 0.5)
    # the GPU's clock has steps of 1.024 us there, and more than half of the samples are equal
    assert 0.0003 < interval.high - interval.low < 0.0025
    assert interval.low < np.median(times) < interval.high


def test_steps_with_decimal_errors_are_one_step() -> None:
    levels = np.random.default_rng(2).integers(40, 44, 1_000)
    exact = quantile_interval(levels * 0.001, 0.5)
    noisy = quantile_interval((levels * 7 + 3) * 0.001 - (levels * 6 + 3) * 0.001, 0.5)
    assert (noisy.low, noisy.high) == pytest.approx((exact.low, exact.high), rel=1e-6)


def test_fewer_samples_than_batches_have_no_interval_and_wrong_shares_are_refused() -> None:
    assert [quantile_interval(np.arange(float(n)), 0.5) for n in (1, 2, 5, 9, 11)] == [None] * 5
    ten = autocorrelation.SampleDistribution(np.arange(10.0))
    assert (ten.between(0.05, 0.95), ten.between(-0.06, 0.5)) == ((0.0, 9.0), None)
    for q, confidence in [(q, 0.95) for q in (0.0, 1.0, -0.1, 50)] + [(0.5, c) for c in (0, 1, 95)]:
        with pytest.raises(UsageError, match="outside"):
            quantile_interval(np.arange(100.0), q, confidence=confidence)
