from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from enginescope.core.errors import UsageError
from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.judge.stats.series import quantum


def test_the_step_of_a_coarse_clock_is_found() -> None:
    values = np.random.default_rng(1).normal(5, 0.1, 2000)
    assert quantum(np.round(values / 0.03125) * 0.03125) == 0.03125


def test_a_step_is_found_beneath_what_printing_did_to_it() -> None:
    values = np.round(np.random.default_rng(2).normal(5, 0.02, 2000) / 0.0078125) * 0.0078125
    printed = [float(f"{value:.6g}") for value in values]
    assert quantum(printed) == pytest.approx(0.0078125, rel=2e-3)


@pytest.mark.parametrize("n", [1, 2, 10, 5000])
def test_a_fine_clock_has_no_step(n: int) -> None:
    assert quantum(np.random.default_rng(3).normal(5, 0.1, n)) is None


def test_equal_values_have_no_step() -> None:
    assert quantum(np.full(100, 3.0)) is None
    assert quantum(np.append(np.full(99, 3.0), 50.0)) is None


def test_no_values_are_refused() -> None:
    with pytest.raises(UsageError):
        quantum([])


def test_trtexecs_float32_step_is_seen_in_its_exported_times(shared: Path) -> None:
    """Times of 4…8 s since the start, in float32 milliseconds: 2⁻¹¹ ms."""
    text = (shared / "trt10-rtx3060/alexnet_fp16.timing.json").read_text(encoding="utf-8")
    values = [one["latencyMs"] for one in json.loads(text)]
    assert quantum(values) == pytest.approx(2**-11, rel=0.01)


def test_a_gap_weighs_as_much_as_the_rarer_of_its_ends() -> None:
    """Few values halfway between two common ones do not halve the step."""
    values = np.concatenate([np.full(400, 1.0), np.full(3, 1.5), np.full(400, 2.0)])
    common = np.concatenate([values, np.full(400, 3.0)])
    assert quantum(common) == 1.0


def test_an_interval_of_times_does_not_reach_below_zero() -> None:
    """Half a step below a sample of 0 there are no times; below others there are."""
    times = 0.0005 * np.random.default_rng(5).choice([0, 1, 2], 400, p=[0.8, 0.15, 0.05])
    found = quantile_interval(times, 0.5)
    assert found is not None
    assert found.low == 0
    assert found.high > 0
    moved = quantile_interval(times - 0.0005, 0.5)
    assert moved is not None
    assert moved.low < -0.0005
    assert moved.high == pytest.approx(found.high - 0.0005)
