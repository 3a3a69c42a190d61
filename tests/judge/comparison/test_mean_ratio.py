"""The geometric mean of ratios, and whether its interval covers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from enginescope.judge.comparison.ratio import MeasuredRatio, mean_ratio, ratio_of_rounds
from enginescope.judge.samples import Interval


def ratio(value: float, half: float = 0.01, confidence: float = 0.95) -> MeasuredRatio:
    ends = Interval(low=value * math.exp(-half), high=value * math.exp(half), confidence=confidence)
    return MeasuredRatio(value, ends)


def test_a_ratio_and_its_inverse_cancel() -> None:
    mean, interval = mean_ratio([ratio(2.0), ratio(0.5)])
    assert mean == pytest.approx(1.0)
    assert math.log(interval.high) == pytest.approx(0.01 / math.sqrt(2))
    assert math.log(interval.low) == pytest.approx(-0.01 / math.sqrt(2))


def test_what_has_a_common_cause_does_not_average_out() -> None:
    _, interval = mean_ratio([ratio(1.0)] * 4, is_shared=True)
    assert math.log(interval.high) == pytest.approx(0.01)


def test_one_ratio_without_an_interval_leaves_the_mean_without_one() -> None:
    mean, interval = mean_ratio([ratio(1.1), MeasuredRatio(1.1, None)])
    assert mean == pytest.approx(1.1)
    assert interval is None


def test_an_exact_ratio_adds_nothing_to_the_interval() -> None:
    mean, interval = mean_ratio([ratio(1.0), MeasuredRatio(4.0, None, is_exact=True)])
    assert mean == pytest.approx(2.0)
    assert math.log(interval.high / mean) == pytest.approx(0.005)
    _, interval = mean_ratio([MeasuredRatio(4.0, None, is_exact=True)] * 2)
    assert (interval.low, interval.high) == pytest.approx((4.0, 4.0))


def test_intervals_of_more_confidence_are_narrowed_to_the_lowest() -> None:
    wide = 2.5758293 / 1.9599640 * 0.01
    _, interval = mean_ratio([ratio(1.0), ratio(1.0, wide, 0.99)])
    assert interval.confidence == 0.95
    assert math.log(interval.high) == pytest.approx(0.01 / math.sqrt(2), rel=1e-4)


@pytest.mark.parametrize("models", [2, 6])
def test_the_interval_covers_the_mean_of_the_true_ratios(models) -> None:
    draw = np.random.default_rng(7)
    true = np.exp(0.1 * draw.standard_normal(models))
    covered = 0
    for _ in range(400):
        found = []
        for value in true:
            b = value * np.exp(0.03 * draw.standard_normal(16))
            estimate = ratio_of_rounds(np.ones(16), b)
            found.append(MeasuredRatio(estimate.ratio, estimate.interval))
        _, interval = mean_ratio(found)
        covered += interval.low <= math.exp(np.log(true).mean()) <= interval.high
    assert 0.92 <= covered / 400 <= 0.985
