import math

import numpy as np
import pytest

from enginescope.core.errors import UsageError
from enginescope.judge.comparing import compare
from enginescope.judge.comparison.hodges_lehmann import (
    level_of_processes,
    paired_shift,
    student_paired_shift,
    student_shift,
)
from enginescope.judge.comparison.run_to_run import process_states, unsettled_states
from enginescope.judge.sources import Recorded
from enginescope.judge.stats.autocorrelation import student_quantile
from enginescope.judge.verdict import Reason, VerdictKind


def test_quantiles_are_scipys() -> None:
    stats = pytest.importorskip("scipy.stats")
    for share in (0.5, 0.6, 0.9, 0.975, 0.995, 0.9999):
        for freedom in range(1, 40):
            wanted = stats.t.ppf(share, freedom)
            assert student_quantile(share, freedom) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_a_shift_of_three_and_three_by_hand() -> None:
    found = student_shift([0.0, 0.01, 0.02], [0.10, 0.11, 0.12], confidence=0.95)
    reach = 2.7764 * 0.01 * math.sqrt(2 / 3)
    assert found.value == pytest.approx(0.10)
    assert (found.low, found.high) == pytest.approx((0.10 - reach, 0.10 + reach), abs=1e-6)
    found = student_shift([0.0], [0.10, 0.11, 0.12], confidence=0.95)
    assert found.high - found.value == pytest.approx(4.3027 * 0.01 * math.sqrt(4 / 3), abs=1e-5)
    assert student_shift([0.0], [0.1], confidence=0.95) == (pytest.approx(0.1), None, None)
    with pytest.raises(UsageError, match=r"^differences: 1 values, and 2"):
        student_paired_shift([0.1], confidence=0.95)
    with pytest.raises(UsageError, match=r"^medians: 0 values"):
        level_of_processes([])
    found = student_shift([0.0, 0.0, 0.3], [0.0, 0.3, 0.3], confidence=0.5)
    assert found.low <= found.value <= found.high
    found = level_of_processes([1.0, 1.0, 1.0, 1.0, 2.0], confidence=0.5)
    assert found.low <= 1.0 <= found.high


@pytest.mark.parametrize("rounds", [[0.02, 0.03], [0.1, 0.12, 0.14, 0.11]])
def test_intervals_of_rounds_and_of_a_level_are_scipys(rounds) -> None:
    wanted = pytest.importorskip("scipy.stats").ttest_1samp(rounds, 0).confidence_interval(0.9)
    found = student_paired_shift(rounds, confidence=0.9)
    assert found == pytest.approx((np.median(rounds), wanted.low, wanted.high))
    level = level_of_processes(list(np.exp(rounds)), confidence=0.9)
    assert (level.low, level.high) == pytest.approx((np.exp(wanted.low), np.exp(wanted.high)))
    assert level.confidence == 0.9


def test_shifts_and_levels_cover_as_they_should() -> None:
    draw = np.random.default_rng(5)
    inside = 0
    for _ in range(2000):
        found = student_shift(draw.normal(0, 1, 3), draw.normal(0, 1, 3), confidence=0.95)
        inside += found.low <= 0 <= found.high
    assert 0.935 < inside / 2000 < 0.965
    draw = np.random.default_rng(6)
    for count in (2, 3, 5, 6, 8):
        inside = 0
        for _ in range(1000):
            found = level_of_processes(list(np.exp(draw.normal(0.5, 0.1, count))))
            inside += found.low <= math.exp(0.5) <= found.high
        assert inside / 1000 > 0.93


def test_of_six_processes_ranks_tell_and_any_sides_are_compared_by_that_rule() -> None:
    medians = [1.0, 1.01, 1.02, 0.99, 1.005, 1.5]
    found = level_of_processes(medians)
    wanted = paired_shift(np.log(medians), confidence=0.95)
    assert (found.low, found.high) == pytest.approx((math.exp(wanted.low), math.exp(wanted.high)))
    assert found.high == pytest.approx(1.5)
    assert (level_of_processes([1.0]), level_of_processes([1.0, 0.0, 1.0])) == (None, None)
    with pytest.raises(UsageError):
        level_of_processes([])
    one = Recorded(tuple([value] for value in NOISE), "one")
    two = Recorded(tuple([ms * (1.06, 1.2)[at % 3 > 0]] for at, ms in enumerate(NOISE)), "two")
    few = compare(one, two, rounds=16)
    assert (few.verdict.kind, few.verdict.reason) == (
        VerdictKind.INCONCLUSIVE,
        Reason.PROCESS_STATES,
    )
    assert "two levels, 13 % apart" in (few.verdict.detail or "")
    assert few.next_step == "about 14 more rounds would probably settle it"
    assert compare(one, two, rounds=30).verdict.kind is VerdictKind.SLOWER


NOISE = 1 + 0.003 * np.random.default_rng(3).standard_normal(30)
ONE = NOISE[:8]
TWO = NOISE[:8] * (1.0, 1.05, 1.05, 1.0, 1.05, 1.0, 1.05, 1.05)


def test_processes_of_two_levels_have_states_that_stay_open_until_thirty_rounds() -> None:
    found = process_states(TWO, 1.0)
    assert (found.low, found.high) == (3, 5)
    assert 4 < found.gap_pct < 6
    assert process_states(TWO, 10.0) is None  # nearer than what matters
    assert (process_states(ONE, 1.0), process_states([*ONE[:7], 2.0], 1.0)) == (None, None)
    assert process_states(TWO[:5], 1.0) is None
    assert unsettled_states((ONE, TWO), 1.04, 1.0) is not None
    assert unsettled_states((ONE, TWO), 1.5, 1.0) is None  # no state is so far away
    assert unsettled_states((ONE, ONE), 1.04, 1.0) is None
    thirty = NOISE * np.where(np.arange(30) % 2, 1.05, 1.0)
    assert unsettled_states((NOISE, thirty), 1.04, 1.0) is None
    assert unsettled_states((NOISE[:29], thirty[:29]), 1.04, 1.0) is not None
