import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.judge.samples import Mark, Samples, frozen
from enginescope.judge.stats.describe import (
    MAX_BINS,
    describe,
    describe_values,
    histogram,
    median,
    nearest_rank,
    needed_samples,
    percentile,
)
from tests.judge.draws import ar1

VALUES = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=80)


def latency(values) -> Samples:
    return Samples(metric="latency", values_ms=frozen(values), warmup_ms=frozen([900.0]))


@given(VALUES)
def test_figures_are_numpys_and_intervals_hold_them(values: list[float]) -> None:
    found = describe(latency(values))
    assert (found.metric, found.n) == ("latency", len(values))
    assert (found.min_ms, found.max_ms) == (min(values), max(values))
    assert found.mean_ms == pytest.approx(np.mean(values))
    assert found.median_ms == np.median(values)
    deviation = np.std(values, ddof=1) if len(values) > 1 else None
    assert found.std_ms == pytest.approx(deviation, abs=1e-12)
    assert found.cv_pct == (
        None if deviation is None else pytest.approx(100 * deviation / np.mean(values), abs=1e-9)
    )
    assert [(one.p, one.value_ms) for one in found.percentiles] == [
        (p, percentile(values, p)) for p in (90, 95, 99)
    ]
    assert 1 <= found.effective_n <= found.n
    found = describe_values(values * 4)
    stated = [(found.median_interval, found.median_ms)]
    stated += [(one.interval, one.value_ms) for one in found.percentiles]
    for interval, value in stated:
        assert interval is None or interval.low <= value <= interval.high


def test_throughput_ranks_and_percentiles_of_a_metric() -> None:
    samples = latency([4.0, 6.0])
    assert describe(samples).throughput_per_s == 200.0
    assert describe(samples, batch=8).throughput_per_s == 1600.0
    assert describe(samples, batch=8, one_in_flight=False).throughput_per_s is None
    found = describe(Samples(metric="h2d", values_ms=frozen(np.zeros(200))))
    assert (found.throughput_per_s, found.cv_pct) == (None, None)
    assert found.median_interval is None
    found = describe(latency(np.arange(1.0, 101.0)), percentiles=(50, 99.9))
    assert [one.p for one in found.percentiles] == [50, 99.9]
    assert found.percentile(99.9).needed_n == 4603
    in_double = [max(n - 1 - int((1 - 99 / 100) * n), 0) for n in range(1, 2000)]
    ours = [nearest_rank(99, n) for n in range(1, 2000)]
    assert ours != in_double
    assert max(abs(a - b) for a, b in zip(ours, in_double, strict=True)) == 1
    with pytest.raises(UsageError, match="no samples"):
        nearest_rank(50, 0)
    with pytest.raises(UsageError, match="0 values"):
        percentile([], 50)
    assert (median([4.0, 1.0, 3.0, 2.0]), median([3.0, 1.0, 2.0])) == (2.5, 2.0)
    values = np.random.default_rng(0).lognormal(size=10_001)
    assert percentile(values, 99) == np.sort(values)[nearest_rank(99, values.size)]


def test_percentiles_say_whether_dependent_samples_support_them() -> None:
    rng = np.random.default_rng(1)
    assert describe_values(rng.lognormal(size=2000)).effective_n > 1700
    assert describe_values(5 + ar1(rng, 2000, 0.9)).effective_n < 250
    rng = np.random.default_rng(2)
    few, many = (describe_values(rng.lognormal(size=n)) for n in (100, 2000))
    assert [one.mark for one in few.percentiles] == [None, None, Mark.SAMPLES]
    assert few.percentile(99).interval is None
    assert all(one.mark is None for one in many.percentiles)
    assert all(one.interval for one in many.percentiles)
    # 600 samples would do for p99 if they were independent; slow periods make them few.
    rng = np.random.default_rng(3)
    slow = np.repeat(rng.random(12) < 0.1, 50)
    found = describe_values(1 + slow + 0.01 * rng.standard_normal(600), percentiles=(80, 90))
    assert found.percentile(90).effective_n < found.percentile(90).needed_n


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_handful_of_samples_is_described_without_intervals(n: int) -> None:
    found = describe(latency(np.arange(1.0, n + 1)))
    assert (found.effective_n, found.median_interval) == (n, None)
    assert [one.effective_n for one in found.percentiles] == [n] * 3
    assert all(one.mark is Mark.SAMPLES and not one.interval for one in found.percentiles)


def test_what_has_no_answer_is_an_error_that_names_the_metric() -> None:
    with pytest.raises(UsageError, match="samples of gpu_compute: 0 values"):
        describe(Samples(metric="gpu_compute", values_ms=frozen([])))
    with pytest.raises(UsageError, match="sample 1 is nan"):
        describe_values([1.0, float("nan")])
    with pytest.raises(UsageError, match="percentile 100"):
        describe_values([1.0, 2.0], percentiles=(100,))
    for p in (-0.1, 100.5, math.nan):
        with pytest.raises(UsageError, match="outside"):
            nearest_rank(p, 10)
    for p, confidence in ((0, 0.99), (100, 0.99), (90, 0), (90, 1)):
        with pytest.raises(UsageError):
            needed_samples(p, confidence)


def bursty_tail(n: int = 4000) -> np.ndarray:
    """Values whose upper tenth comes in two long bursts and whose largest values come evenly."""
    values = np.random.default_rng(5).normal(1.0, 0.01, n)
    for start in (0, n // 2):
        values[start : start + n // 20] += 1.0
    values[::80] += 5.0
    return values


def test_a_percentile_is_sound_by_itself_and_every_lower_one() -> None:
    """p90 and p95 lacked samples and p99 did not, so p99 was stated as sound."""
    found = {each.p: each for each in describe_values(bursty_tail()).percentiles}
    assert found[95.0].effective_n < found[95.0].needed_n
    assert found[99.0].effective_n >= found[99.0].needed_n
    assert found[99.0].mark is Mark.LOWER
    (alone,) = describe_values(bursty_tail(), percentiles=(99.0,)).percentiles
    assert alone.mark is Mark.LOWER
    assert (alone.n, alone.weak_below) == (4000, found[99.0].weak_below)
    # A 97th percentile that was asked for as well marked the 99th.
    for seed in range(10):
        values = np.repeat(np.random.default_rng(seed).lognormal(0, 0.3, 900), 2)
        alone = describe_values(values).percentile(99)
        assert alone == describe_values(values, percentiles=(91.0, 97.0, 98.0, 99.0)).percentile(99)


def slower_end() -> np.ndarray:
    """Three hundred samples of which the last nine are slower."""
    values = np.random.default_rng(2).normal(10, 1, 300)
    values[-9:] += 3
    return values


@pytest.mark.parametrize(
    ("values", "mark"),
    [
        (slower_end(), Mark.EXTREMES),
        (np.full(200, 2.0), Mark.EQUAL),
        (np.cumsum(np.random.default_rng(1).normal(0, 1, 2_000)), Mark.SAMPLES),
    ],
)
def test_a_percentile_has_its_interval_or_its_mark(values: np.ndarray, mark: Mark) -> None:
    (found,) = describe_values(values, percentiles=(90.0,)).percentiles
    assert found.mark is mark
    assert found.interval is None or mark is Mark.SAMPLES


SERIES = st.one_of(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=100),
    st.lists(st.integers(1, 20).map(float), min_size=1, max_size=100),
)


@given(SERIES, st.one_of(st.none(), st.integers(1, 40)))
def test_every_sample_is_counted_once(values: list[float], bins: int | None) -> None:
    found = histogram(values, bins=bins)
    assert sum(found.counts) + found.n_below + found.n_above == len(values)
    assert len(found.edges_ms) == len(found.counts) + 1
    assert 1 <= len(found.counts) <= (bins or MAX_BINS)
    assert list(found.edges_ms) == sorted(set(found.edges_ms))
    assert max(found.n_below, found.n_above) <= 0.025 * len(values) + 1


def test_a_spike_does_not_flatten_the_picture_and_levels_stay_two() -> None:
    values = np.random.default_rng(1).normal(5, 0.1, 2000)
    width = np.diff(histogram(values).edges_ms)[0]
    exact = np.histogram_bin_edges(values, bins="fd")
    assert width == pytest.approx(exact[1] - exact[0], rel=0.05)
    values = np.append(np.random.default_rng(2).normal(5, 0.1, 400), 50.0)
    found = histogram(values)
    assert (found.n_above, found.n_below) == (1, 0)
    assert found.edges_ms[-1] < 6
    assert len(found.counts) >= 8
    rng = np.random.default_rng(3)
    values = np.where(rng.random(2000) < 0.1, 2.0, 1.0) + 0.005 * rng.standard_normal(2000)
    found = histogram(values)
    assert found.edges_ms[-1] > 2
    assert found.n_above < 60
    rng = np.random.default_rng(7)
    level = np.where(rng.random(5_000) < 0.3, 40, 60)
    counts = histogram((level + np.round(rng.normal(0, 2, 5_000))) / 1e3).counts
    assert min(counts[len(counts) // 3 : 2 * len(counts) // 3]) < max(counts) / 10


@pytest.mark.parametrize("bins", [None, 24])
def test_steps_of_a_clock_make_no_gaps(bins: int | None) -> None:
    rng = np.random.default_rng(4)
    for step in (0.0078125, 0.03, 0.1):
        found = histogram(np.round(rng.normal(5, 0.1, 5000) / step) * step, bins=bins)
        assert min(found.counts[len(found.counts) // 4 : 3 * len(found.counts) // 4]) > 0


@pytest.mark.parametrize("bins", [None, 40])
def test_a_sum_of_two_clocks_makes_no_comb(bins: int | None) -> None:
    rng = np.random.default_rng(6)
    coarse = np.round(rng.normal(500, 8, 20_000) / 4) * 4
    fine = rng.choice([-1.0, 0.0, 1.0], size=coarse.size, p=[0.15, 0.7, 0.15])
    counts = np.array(histogram((coarse + fine) / 1e3, bins=bins).counts)
    peak = int(counts.argmax())
    assert (np.diff(counts[: peak + 1]) >= -10).all()  # up to the peak, and down from it
    assert (np.diff(counts[peak:]) <= 10).all()


@pytest.mark.parametrize(("value", "margin"), [(0.0, 0.5), (3.0, 0.015)])
def test_equal_values_fill_one_bin_of_one_percent(value: float, margin: float) -> None:
    found = histogram([value] * 5)
    assert found.counts == (5,)
    assert found.edges_ms == pytest.approx((value - margin, value + margin))


@pytest.mark.parametrize(("bins", "steps"), [(None, 2), (10, 2), (7, 3)])
def test_bins_hold_whole_steps_of_a_clock_in_their_middle(bins: int | None, steps: int) -> None:
    found = histogram(np.repeat(np.arange(40.0, 60.0), [10, *([30] * 18), 10]), bins=bins)
    assert found.edges_ms == pytest.approx(39.5 + steps * np.arange(-(-20 // steps) + 1))
    assert found.counts[0] == 10 + 30 * (steps - 1)
    assert set(found.counts[1:-1]) == {30 * steps}


def test_columns_for_a_terminal() -> None:
    values = np.random.default_rng(5).lognormal(sigma=0.1, size=1000)
    assert len(histogram(values, bins=16).counts) == 16
    with pytest.raises(UsageError, match="0 values"):
        histogram([])
    with pytest.raises(UsageError, match="at least one"):
        histogram([1.0], bins=0)


POSITIVE_LISTS = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60)


def test_rank_is_trtexecs_and_the_needed_number_loadgens() -> None:
    needed = {90: 44, 95: 90, 99: 459, 99.9: 4603, 50: 7}
    assert {p: needed_samples(p) for p in needed} == needed
    # in double precision one of 100 samples would be excluded, and the rank of p99 be 98
    ranks = {(99, 100): 99, (90, 100): 89, (95, 100): 94, (99, 1000): 990, (50, 4): 1, (0, 10): 0}
    ranks |= {(100, 10): 9, (99, 1): 0}
    assert {one: nearest_rank(*one) for one in ranks} == ranks


@given(POSITIVE_LISTS, st.floats(0, 100), st.integers(-8, 8))
def test_a_percentile_is_a_value_ignores_their_order_and_scales_with_them(values, p, power) -> None:
    found = percentile(values, p)
    assert found in values
    assert (percentile(sorted(values), p), percentile(values[::-1], p)) == (found, found)
    assert percentile([value * 2.0**power for value in values], p) == 2.0**power * found


@given(POSITIVE_LISTS, st.floats(0, 100), st.floats(0, 100))
def test_percentiles_do_not_fall_and_the_ends_are_the_extremes(values, p, other) -> None:
    low, high = sorted((p, other))
    assert percentile(values, low) <= percentile(values, high)
    assert (percentile(values, 0), percentile(values, 100)) == (min(values), max(values))


@given(st.floats(1, 99.9), st.floats(0.5, 0.999))
def test_needed_samples_is_the_smallest_number_that_reaches_beyond(p, confidence) -> None:
    tail = min(p, 100 - p) / 100
    n = needed_samples(p, confidence)
    assert scipy.stats.binom.sf(0, n, tail) >= confidence - 1e-9
    assert n == 1 or scipy.stats.binom.sf(0, n - 1, tail) < confidence + 1e-9
