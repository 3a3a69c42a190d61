"""A ratio against the most that may be lost."""

from __future__ import annotations

import pytest

from enginescope.judge.comparison.non_inferiority import NonInferiority, non_inferiority
from enginescope.judge.samples import Interval
from enginescope.judge.verdict import RatioEstimate


def estimate(low: float, ratio: float, high: float) -> RatioEstimate:
    interval = Interval(low=low, high=high)
    return RatioEstimate(ratio=ratio, interval=interval, method="processes", n_a=5, n_b=5)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((1.01, 1.03, 1.05), NonInferiority.WORSE),
        ((0.99, 1.03, 1.05), NonInferiority.OPEN),  # it may be nothing
        ((1.005, 1.015, 1.03), NonInferiority.OPEN),  # worse, but by how much
        ((1.005, 1.01, 1.015), NonInferiority.WITHIN),  # worse by less than matters
        ((0.90, 0.99, 1.01), NonInferiority.WITHIN),  # wide on the side that does no harm
        ((0.90, 0.97, 1.03), NonInferiority.OPEN),
        ((0.90, 0.95, 0.99), NonInferiority.BETTER),
        ((0.97, 0.985, 0.99), NonInferiority.WITHIN),  # better by less than matters
    ],
)
def test_a_time(ends, expected) -> None:
    assert non_inferiority(estimate(*ends), 2) is expected


def test_a_rate_is_the_other_way_round() -> None:
    worse = estimate(0.95, 0.97, 0.99)
    assert non_inferiority(worse, 2, higher_is_better=True) is NonInferiority.WORSE
    better = estimate(1.02, 1.05, 1.08)
    assert non_inferiority(better, 2, higher_is_better=True) is NonInferiority.BETTER
    wide = estimate(0.99, 1.01, 1.2)
    assert non_inferiority(wide, 2, higher_is_better=True) is NonInferiority.WITHIN


def test_without_an_interval_it_is_open() -> None:
    single = RatioEstimate(ratio=2.0, interval=None, method="processes", n_a=2, n_b=2)
    assert non_inferiority(single, 2) is NonInferiority.OPEN
