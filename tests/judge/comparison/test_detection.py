"""Comparisons drawn from measured rounds, with a planted difference."""

import math

import numpy as np
import pytest

from enginescope.core.errors import UsageError
from enginescope.judge.comparison.detection import DrawnComparisons, share_interval
from enginescope.judge.comparison.hodges_lehmann import paired_shift, paired_shifts
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE
from enginescope.judge.comparison.ratio import decide, ratio_of_rounds
from enginescope.judge.comparison.run_to_run import POWER, scatter_of, smallest_difference
from enginescope.judge.verdict import VerdictKind

LOOKS = (8, 16)


def noise(sd: float, rounds: int = 40, seed: int = 2) -> np.ndarray:
    return sd * np.random.default_rng(seed).standard_normal(rounds)


@pytest.mark.parametrize("rounds", [5, 8, 30])
def test_many_shifts_are_those_of_each(rounds) -> None:
    rows = np.random.default_rng(1).standard_normal((4, rounds))
    for row, (low, value, high) in zip(
        rows, paired_shifts(rows, confidence=LOOK_CONFIDENCE), strict=True
    ):
        one = paired_shift(row, confidence=LOOK_CONFIDENCE)
        expected = (one.low or -math.inf, one.value, one.high or math.inf)
        assert (low, value, high) == pytest.approx(expected)


def test_drawn_comparisons_end_as_the_verdict_does() -> None:
    """Every drawn comparison, taken again by the functions of a real one, ends the same way."""
    drawn = DrawnComparisons(noise(0.03), LOOKS, 1.0)
    rng = np.random.default_rng(0)
    shape = (500, LOOKS[-1])
    taken = rng.choice(noise(0.03), shape) * rng.choice((-1.0, 1.0), shape)
    slower = 0
    for row in taken[:60]:
        kind = VerdictKind.INCONCLUSIVE
        for look in LOOKS:
            b = np.exp(row[:look] + math.log(1.03))
            kind, _ = decide(ratio_of_rounds([1.0] * look, b, confidence=LOOK_CONFIDENCE), 1.0)
            if kind is not VerdictKind.INCONCLUSIVE:
                break
        slower += kind is VerdictKind.SLOWER
    assert drawn._ends(drawn._drawn[:60], 3.0)[0] == pytest.approx(slower / 60)
    assert 0 < slower < 60


def test_the_curve_rises_and_the_smallest_difference_grows_with_the_noise() -> None:
    shares = DrawnComparisons(noise(0.03), LOOKS, 1.0).shares((0, 1, 2, 4, 8))
    assert list(shares.found[1:]) == sorted(shares.found[1:])
    assert (shares.low <= shares.found).all()
    assert (shares.found <= shares.high).all()
    assert shares.found[0] <= 0.05
    assert (shares.found[-1], shares.wrong[0]) == (1.0, 0)
    assert LOOKS[0] <= shares.rounds[-1] < shares.rounds[1] <= LOOKS[-1]
    quiet, loud = (DrawnComparisons(noise(sd), LOOKS, 1.0) for sd in (0.01, 0.05))
    small, large = quiet.smallest(), loud.smallest()
    assert 1.0 < small.difference_pct < large.difference_pct
    assert large.low_pct <= large.difference_pct <= large.high_pct
    assert loud.shares([large.difference_pct]).found[0] >= 0.95
    assert math.isinf(DrawnComparisons(noise(3.0), LOOKS, 1.0).smallest().difference_pct)
    drawn = DrawnComparisons([0.0] * 8, LOOKS, 1.0)
    assert drawn.smallest().difference_pct == pytest.approx(1.0, rel=0.01)
    assert list(drawn.shares((0, 0.5, 1.1)).found) == [0.0, 0.0, 1.0]


def test_the_interval_of_a_share_is_exact() -> None:
    shares = {(0, 4): (0.0, 0.6024), (4, 4): (0.3976, 1.0), (0, 1): (0, 0.975)}
    for counts, ends in (shares | {(1, 10): (0.0025, 0.4450)}).items():
        assert share_interval(*counts) == pytest.approx(ends, abs=1e-4), counts


def test_the_scatter_of_normal_processes_in_any_unit() -> None:
    medians = 3.0 * np.exp(0.01 * np.random.default_rng(1).standard_normal(2_000))
    assert scatter_of(list(medians)) == pytest.approx(1.96 * 0.01, rel=0.05)
    medians = [1.0, 1.02, 0.99, 1.01]
    assert scatter_of(medians) == pytest.approx(scatter_of([1e3 * one for one in medians]))
    assert scatter_of([1.0, math.e]) == pytest.approx(math.sqrt(0.5))
    for few in ([1.0], [1.0, 0.0]):
        with pytest.raises(UsageError):
            scatter_of(few)


def test_the_smallest_difference_is_found_as_often_as_said() -> None:
    noise = 0.01
    least = smallest_difference(noise * np.random.default_rng(2).standard_normal(2_000), 14)
    draw = np.random.default_rng(3)
    seen = [
        paired_shift(least + noise * draw.standard_normal(14), confidence=LOOK_CONFIDENCE).low > 0
        for _ in range(1_000)
    ]
    assert np.mean(seen) == pytest.approx(POWER, abs=0.05)
    differences = 0.01 * np.random.default_rng(4).standard_normal(20)
    some, many = (smallest_difference(differences, n) for n in (40, 160))
    assert many == pytest.approx(some / 2, rel=0.15)
    assert smallest_difference(differences, 240) == pytest.approx(many / math.sqrt(1.5))
    assert smallest_difference([0.01, -0.01, 0.02], 6) is None
    assert smallest_difference([0.0] * 8, LOOKS[0]) == 0.0
