from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.judge.samples import Mark, Samples, frozen
from enginescope.judge.stats.describe import describe, describe_values, percentile
from tests.judge.draws import ar1

VALUES = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=80)


def latency(values) -> Samples:
    return Samples(metric="latency", values_ms=frozen(values), warmup_ms=frozen([900.0]))


@given(VALUES)
def test_figures_are_numpys(values: list[float]) -> None:
    found = describe(latency(values))
    assert found.metric == "latency"
    assert found.n == len(values)
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


@given(VALUES)
def test_intervals_hold_their_estimates(values: list[float]) -> None:
    found = describe_values(values * 4)
    stated = [(found.median_interval, found.median_ms)]
    stated += [(one.interval, one.value_ms) for one in found.percentiles]
    for interval, value in stated:
        assert interval is None or interval.low <= value <= interval.high


def test_throughput_is_the_batch_over_the_mean() -> None:
    samples = latency([4.0, 6.0])
    assert describe(samples).throughput_per_s == 200.0
    assert describe(samples, batch=8).throughput_per_s == 1600.0
    assert describe(samples, batch=8, one_in_flight=False).throughput_per_s is None


def test_a_metric_that_is_nothing_has_no_rate_and_no_relative_spread() -> None:
    found = describe(Samples(metric="h2d", values_ms=frozen(np.zeros(200))))
    assert found.throughput_per_s is None
    assert found.cv_pct is None
    assert found.median_interval is None


def test_independent_samples_count_whole_and_dependent_ones_do_not() -> None:
    rng = np.random.default_rng(1)
    assert describe_values(rng.lognormal(size=2000)).effective_n > 1700
    assert describe_values(5 + ar1(rng, 2000, 0.9)).effective_n < 250


def test_percentiles_say_whether_they_are_supported() -> None:
    rng = np.random.default_rng(2)
    few, many = (describe_values(rng.lognormal(size=n)) for n in (100, 2000))
    assert [one.mark for one in few.percentiles] == [None, None, Mark.SAMPLES]
    assert few.percentile(99).interval is None
    assert all(one.mark is None for one in many.percentiles)
    assert all(one.interval for one in many.percentiles)


def test_a_percentile_is_not_supported_by_samples_that_depend() -> None:
    """600 samples would do for p99 if they were independent; slow periods make them few."""
    rng = np.random.default_rng(3)
    slow = np.repeat(rng.random(12) < 0.1, 50)
    found = describe_values(1 + slow + 0.01 * rng.standard_normal(600), percentiles=(80, 90))
    assert found.percentile(90).effective_n < found.percentile(90).needed_n


def test_percentiles_may_be_chosen() -> None:
    found = describe(latency(np.arange(1.0, 101.0)), percentiles=(50, 99.9))
    assert [one.p for one in found.percentiles] == [50, 99.9]
    assert found.p90_ms is None
    assert found.percentile(99.9).needed_n == 4603


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_handful_of_samples_is_described_without_intervals(n: int) -> None:
    found = describe(latency(np.arange(1.0, n + 1)))
    assert found.effective_n == n
    assert found.median_interval is None
    assert [one.effective_n for one in found.percentiles] == [n] * 3
    assert all(one.mark is Mark.SAMPLES and not one.interval for one in found.percentiles)


def test_no_samples_are_an_error_that_names_the_metric() -> None:
    with pytest.raises(UsageError, match="samples of gpu_compute: 0 values"):
        describe(Samples(metric="gpu_compute", values_ms=frozen([])))


def test_a_sample_that_is_not_finite_is_an_error() -> None:
    with pytest.raises(UsageError, match="sample 1 is nan"):
        describe_values([1.0, float("nan")])


def test_a_percentile_without_an_answer_is_an_error() -> None:
    with pytest.raises(UsageError, match="percentile 100"):
        describe_values([1.0, 2.0], percentiles=(100,))


def bursty_tail(n: int = 4000) -> np.ndarray:
    """Values whose upper tenth comes in two long bursts and whose largest values come evenly."""
    draw = np.random.default_rng(5)
    values = draw.normal(1.0, 0.01, n)
    for start in (0, n // 2):
        values[start : start + n // 20] += 1.0
    values[::80] += 5.0
    return values


def test_a_percentile_is_sound_only_if_every_lower_one_is() -> None:
    """p90 and p95 lacked samples and p99 did not, so p99 was stated as sound."""
    found = {each.p: each for each in describe_values(bursty_tail()).percentiles}
    assert found[95.0].effective_n < found[95.0].needed_n
    assert found[99.0].effective_n >= found[99.0].needed_n
    assert found[99.0].mark is Mark.LOWER
    (alone,) = describe_values(bursty_tail(), percentiles=(99.0,)).percentiles
    assert alone.mark is Mark.LOWER
    assert alone.n == 4000
    assert alone.weak_below == found[99.0].weak_below


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


def test_other_percentiles_that_are_asked_for_do_not_change_one() -> None:
    """A 97th percentile that was asked for as well marked the 99th."""
    for seed in range(30):
        values = np.repeat(np.random.default_rng(seed).lognormal(0, 0.3, 900), 2)
        alone = describe_values(values).percentile(99)
        beside = describe_values(values, percentiles=(91.0, 97.0, 98.0, 99.0)).percentile(99)
        assert alone == beside
