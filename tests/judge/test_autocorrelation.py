import gc
import json
from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.stats import autocorrelation
from enginescope.judge.stats.autocorrelation import (
    autoregressive_time,
    effective_samples,
    integrated_time,
    levels_of,
    quantile_interval,
)
from enginescope.judge.stats.describe import describe
from enginescope.judge.stats.series import as_series, once_per_series, quantum
from enginescope.judge.stats.stability import notices_of
from tests.judge.draws import ar1

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=80)


@pytest.mark.parametrize("estimate", [integrated_time, autoregressive_time])
def test_independent_samples_have_time_one_and_alternation_is_not_credited(estimate) -> None:
    assert estimate(np.random.default_rng(1).standard_normal(20_000)) == pytest.approx(1.0, abs=0.1)
    assert estimate(np.tile([1.0, 2.0], 100)) == 1.0
    assert [estimate(np.full(1000, value)) for value in (0.0, 0.1, -3.0)] == [1.0] * 3


@pytest.mark.parametrize("phi", [0.5, 0.9])
@pytest.mark.parametrize("estimate", [integrated_time, autoregressive_time])
def test_time_of_an_autoregressive_series_is_the_closed_form(estimate, phi: float) -> None:
    values = ar1(np.random.default_rng(2), 30_000, phi)
    assert estimate(values) == pytest.approx((1 + phi) / (1 - phi), rel=0.15)


def test_times_of_dependent_series_are_the_closed_forms() -> None:
    """ρ(k) of 1{x ≤ median} is 2/π · asin φᵏ for a Gaussian process (Sheppard 1899)."""
    values = ar1(np.random.default_rng(3), 30_000, 0.9)
    exact = 1 + 2 * np.sum(2 / np.pi * np.arcsin(0.9 ** np.arange(1, 400)))
    assert integrated_time(values <= np.median(values)) == pytest.approx(exact, rel=0.15)
    values = ar1(np.random.default_rng(4), 200_000, 0.9)
    parts = [integrated_time(part) for part in np.split(values, 10)]
    assert integrated_time(values) == pytest.approx(np.mean(parts), rel=0.1)
    noise = np.random.default_rng(5).standard_normal(200_000)
    assert integrated_time(noise) == pytest.approx(1.0, abs=0.1)
    # With 300 samples of a time of 199, what matters is to see that there are few.
    rng = np.random.default_rng(6)
    series = [ar1(rng, 300, 0.99) for _ in range(60)]
    ours = np.median([autoregressive_time(one) for one in series])
    assert np.median([integrated_time(one) for one in series]) < 60 < 100 < ours <= 300
    assert autoregressive_time(np.arange(50.0)) == 50.0


@pytest.mark.parametrize("estimate", [integrated_time, autoregressive_time, effective_samples])
def test_too_short_or_not_finite_is_refused(estimate) -> None:
    with pytest.raises(UsageError, match="3 values, and 4 are needed"):
        estimate([1.0, 2.0, 3.0])
    with pytest.raises(UsageError, match="sample 1 is nan"):
        estimate([1.0, np.nan, 3.0, 4.0])


@given(VALUES)
def test_effective_samples_lie_between_one_and_n(values: list[float]) -> None:
    assert 1 <= effective_samples(values) <= len(values)
    assert 1 <= autoregressive_time(values) <= len(values)


@given(VALUES, st.floats(-100, 100), st.integers(-6, 6))
def test_time_does_not_depend_on_the_unit(values: list[float], shift: float, power: int) -> None:
    series = np.round(values, 3)
    moved = series * 2.0**power + round(shift, 3)
    assert integrated_time(moved) == pytest.approx(integrated_time(series), rel=1e-6)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_levels_of_a_short_series_are_dense_ranks(values: list[float]) -> None:
    assert levels_of(values).tolist() == (scipy.stats.rankdata(values, method="dense") - 1).tolist()


def test_levels_are_the_same_on_any_scale_and_a_spike_hides_no_wandering() -> None:
    values = np.random.default_rng(7).standard_normal(5000)
    assert levels_of(values).tolist() == levels_of(np.exp(values)).tolist()
    assert levels_of(values).max() == 255
    values = 10 + 0.1 * ar1(np.random.default_rng(8), 5000, 0.95)
    spiked = values.copy()
    spiked[1234] = 1000
    assert effective_samples(spiked) > 4000
    assert effective_samples(levels_of(spiked)) == pytest.approx(
        effective_samples(levels_of(values)), rel=0.02
    )


@pytest.mark.parametrize(
    ("model", "n", "worth"), [("alexnet", 6_039, 16), ("resnet18", 10_742, 25)]
)
def test_recorded_traces_are_worth_what_was_measured(shared, model, n, worth) -> None:
    text = (shared / "trt10-rtx3060" / f"{model}_fp16.timing.json").read_text(encoding="utf-8")
    values = [one["latencyMs"] for one in json.loads(text)]
    assert (len(values), effective_samples(values)) == (n, pytest.approx(worth, abs=1))
    assert effective_samples(levels_of(values)) == pytest.approx(worth, rel=0.15)


def test_a_series_comes_back_as_float64_or_is_refused() -> None:
    found = as_series([1, 2, 3])
    assert (found.dtype, found.tolist()) == (np.float64, [1.0, 2.0, 3.0])
    with pytest.raises(UsageError, match="2 dimensions"):
        as_series(np.ones((2, 2)))
    with pytest.raises(UsageError, match="warm-up: 3 values, and 4 are needed") as caught:
        as_series([1.0, 2.0, 3.0], name="warm-up", at_least=4)
    assert caught.value.hint
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(UsageError, match="sample 2 is"):
            as_series([1.0, 2.0, bad, 4.0, bad])


def test_the_step_of_a_coarse_clock_is_found_and_times_stay_above_zero() -> None:
    values = np.random.default_rng(1).normal(5, 0.1, 2000)
    assert quantum(np.round(values / 0.03125) * 0.03125) == 0.03125
    values = np.round(np.random.default_rng(2).normal(5, 0.02, 2000) / 0.0078125) * 0.0078125
    printed = [float(f"{value:.6g}") for value in values]
    assert quantum(printed) == pytest.approx(0.0078125, rel=2e-3)
    fine = [np.random.default_rng(3).normal(5, 0.1, n) for n in (1, 2, 10, 5000)]
    assert [quantum(each) for each in fine] == [None] * 4
    assert quantum(np.full(100, 3.0)) is None
    assert quantum(np.append(np.full(99, 3.0), 50.0)) is None
    with pytest.raises(UsageError):
        quantum([])
    # Few values halfway between two common ones do not halve the step.
    values = np.concatenate([np.full(400, 1.0), np.full(3, 1.5), np.full(400, 2.0)])
    assert quantum(np.concatenate([values, np.full(400, 3.0)])) == 1.0
    # Samples count by their number where float32 puts two levels around each step.
    values = np.repeat([1.0, 1.01, 2.0, 2.01, 3.0, 3.01], [300, 100, 100, 300, 200, 200])
    assert quantum(values) == pytest.approx(1 + 0.01 * (140 - 100) / 340 / 2)
    # Half a step below a sample of 0 there are no times; below others there are.
    times = 0.0005 * np.random.default_rng(5).choice([0, 1, 2], 400, p=[0.8, 0.15, 0.05])
    found = quantile_interval(times, 0.5)
    assert found.low == 0
    assert found.high > 0
    moved = quantile_interval(times - 0.0005, 0.5)
    assert moved.low < -0.0005
    assert moved.high == pytest.approx(found.high - 0.0005)


def test_trtexecs_float32_step_is_seen_in_its_exported_times(shared: Path) -> None:
    """Times of 4…8 s since the start, in float32 milliseconds: 2⁻¹¹ ms."""
    text = (shared / "trt10-rtx3060/alexnet_fp16.timing.json").read_text(encoding="utf-8")
    values = [one["latencyMs"] for one in json.loads(text)]
    assert quantum(values) == pytest.approx(2**-11, rel=0.01)


@pytest.fixture
def total():
    """A sum that is remembered, and the calls that were not."""
    calls = []

    @once_per_series
    def total(series, factor=1.0, other=None):
        calls.append(1)
        return factor * float(series.sum()) + (0 if other is None else float(other.sum()))

    return total, calls


def test_once_for_each_series_and_each_time_for_what_may_change(total) -> None:
    compute, calls = total
    one, two = frozen([1.0, 2.0]), frozen([1.0, 2.0])
    assert [compute(one), compute(one), compute(one, 2.0), compute(one, 2.0)] == [3, 3, 6, 6]
    assert compute(two) == 3
    assert compute(one, 1.0, two) == compute(one, 1.0, two) == 6
    assert len(calls) == 4
    values = np.array([1.0, 2.0])
    part = values[:1]
    part.setflags(write=False)
    assert (compute(values), compute(part)) == (3, 1)
    values[0] = 5.0
    assert (compute(values), compute(part)) == (7, 5)
    assert compute(frozen([0.0]), 1.0, values) == 7
    values[0] = 6.0
    assert compute(frozen([0.0]), 1.0, values) == 8


def test_nothing_is_remembered_of_samples_that_are_gone(total) -> None:
    compute, _ = total
    for value in range(100):  # arrays that are gone make room for others at the same place
        assert compute(frozen([float(value)])) == value
    gc.collect()
    contents = [cell.cell_contents for cell in compute.__closure__]
    assert [len(known) for known in contents if isinstance(known, dict)] == [0]


def test_the_notices_and_the_summary_of_a_run_share_their_interval(monkeypatch) -> None:
    calls = []
    real = autocorrelation.integrated_time
    monkeypatch.setattr(
        autocorrelation, "integrated_time", lambda values: calls.append(1) or real(values)
    )
    values = frozen(1 + np.random.default_rng(1).gamma(2, 0.1, 500))
    samples = Samples(metric="latency", values_ms=values)
    first = describe(samples)
    count = len(calls)
    notices_of(samples)
    again = len(calls)
    assert count > 0
    assert (describe(samples), notices_of(samples)) == (first, notices_of(samples))
    assert len(calls) == again
