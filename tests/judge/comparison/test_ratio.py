"""Ratios of medians with their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from enginescope.core.errors import UsageError
from enginescope.judge.comparison.ratio import (
    ratio_by_scatter,
    ratio_of_few_processes,
    ratio_of_processes,
    ratio_of_rounds,
)
from enginescope.judge.stats.autocorrelation import quantile_interval
from tests.judge.draws import ar1


def test_what_a_round_shares_divides_out() -> None:
    shared = np.exp(np.random.default_rng(0).normal(0, 0.3, 12))
    found = ratio_of_rounds(list(2 * shared), list(2.2 * shared))
    assert found.ratio == pytest.approx(1.1)
    assert found.interval.low == pytest.approx(1.1)
    assert found.interval.high == pytest.approx(1.1)
    assert (found.method, found.n_a, found.n_b) == ("rounds", 12, 12)
    apart = ratio_of_processes(list(2 * shared), list(2.2 * shared)).interval
    assert apart.low < 1 < apart.high


def test_sides_exchanged_give_the_inverse() -> None:
    a, b = [1.0, 1.1, 0.9, 1.05], [2.0, 2.3, 1.9, 2.2, 2.1]
    there, back = ratio_of_processes(a, b), ratio_of_processes(b, a)
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert there.interval.low == pytest.approx(1 / back.interval.high)


def test_few_processes_give_a_ratio_and_no_interval() -> None:
    found = ratio_of_processes([1.0, 1.1], [2.0, 2.2])
    assert found.interval is None
    assert found.ratio == pytest.approx(2.0, rel=0.02)


def test_one_process_a_side_adds_both_intervals_in_squares() -> None:
    draw = np.random.default_rng(1)
    a, b = draw.normal(1, 0.05, 900), draw.normal(1.2, 0.05, 400)
    found = ratio_by_scatter([a], [b])
    of_a, of_b = quantile_interval(a, 0.5), quantile_interval(b, 0.5)
    down = math.hypot(math.log(np.median(b) / of_b.low), math.log(of_a.high / np.median(a)))
    assert math.log(found.ratio / found.interval.low) == pytest.approx(down)
    assert found.ratio == pytest.approx(np.median(b) / np.median(a))


def test_scatter_of_processes_widens() -> None:
    draw = np.random.default_rng(1)
    a, b = draw.normal(1, 0.001, 900), draw.normal(1, 0.001, 900)
    found = ratio_by_scatter([a], [b], scatter=0.02)
    assert math.log(found.interval.high / found.ratio) > 0.02 * math.sqrt(2)


def test_samples_worth_too_little_have_no_interval() -> None:
    wandering = 1 + 0.01 * np.arange(200) / 14
    assert ratio_by_scatter([wandering], [wandering[::-1]]).interval is None


def test_dependent_samples_cover_as_they_should() -> None:
    draw = np.random.default_rng(7)
    inside = 0
    for _ in range(300):
        a, b = (np.exp(0.02 * ar1(draw, 600, 0.8)) for _ in range(2))
        found = ratio_by_scatter([a], [b]).interval
        inside += found.low <= 1 <= found.high
    assert 0.91 < inside / 300 <= 0.99


def test_a_median_of_nothing_has_no_ratio() -> None:
    with pytest.raises(UsageError, match="not above 0"):
        ratio_by_scatter([np.zeros(100)], [np.ones(100)])
    with pytest.raises(UsageError, match="both sides"):
        ratio_of_rounds([1.0], [1.0, 2.0])


def test_more_confidence_widens_the_interval_of_rounds_and_keeps_the_ratio() -> None:
    """A gate needs more of it than a comparison: both say the same ratio of the same rounds."""
    skewed = [1.4, 1.5, 1.6, 1.7, 2.9, 3.0, 3.1, 9.0]
    looked = ratio_of_rounds([1.0] * 8, skewed, confidence=0.99)
    gated = ratio_of_rounds([1.0] * 8, skewed, confidence=0.999)
    assert (looked.is_student, gated.is_student) == (False, True)
    assert gated.ratio == looked.ratio != pytest.approx(float(np.median(skewed)), rel=0.01)
    assert gated.interval.low < gated.ratio < gated.interval.high
    alike = ratio_of_rounds([1.0] * 8, [*[1.0] * 7, 1.2], confidence=0.999)
    assert alike.interval.low <= alike.ratio <= alike.interval.high


def test_ranks_go_before_student_and_student_before_nothing() -> None:
    three, four = [1.0, 1.01, 0.99], [1.0, 1.01, 0.99, 1.005]
    few = ratio_of_few_processes(three, [1.1 * one for one in three])
    assert (few.method, few.is_student) == ("processes", True)
    assert few.interval.low < 1.1 < few.interval.high
    assert not ratio_of_few_processes(four, four).is_student
    assert ratio_of_few_processes(four, four) == ratio_of_processes(four, four)
    assert ratio_of_few_processes(three[:2], four[:3]).interval is None  # five in all
    assert ratio_of_few_processes([1.0], [*four, 1.02]).is_student  # six
    sure = ratio_of_few_processes(three, three, confidence=0.99).interval
    assert sure.confidence == 0.99
    assert sure.high > ratio_of_few_processes(three, three).interval.high


def test_of_two_processes_as_much_scatter_is_assumed_as_of_one() -> None:
    draw = np.random.default_rng(3)
    sides = [[draw.normal(1, 0.001, 400) for _ in range(2)] for _ in range(2)]
    one = ratio_by_scatter(sides[0][:1], sides[1][:1], scatter=0.05)
    two = ratio_by_scatter(*sides, scatter=0.05)
    for found in (one, two):
        assert math.log(found.interval.high / found.ratio) == pytest.approx(0.05 * 2**0.5, rel=0.01)
    assert (two.n_a, two.n_b) == (800, 800)
    wandering = 1 + 0.01 * np.arange(200) / 14
    assert ratio_by_scatter([sides[0][0], wandering], sides[1]).interval is None


def test_two_processes_of_one_side_count_as_one_median() -> None:
    """Two equal processes do not narrow the interval, and do not widen it."""
    draw = np.random.default_rng(5)
    a, b = draw.normal(1, 0.05, 400), draw.normal(1.2, 0.05, 400)
    one, two = ratio_by_scatter([a], [b]), ratio_by_scatter([a, a], [b, b])
    assert two.interval.low == pytest.approx(one.interval.low)
    assert two.interval.high == pytest.approx(one.interval.high)
