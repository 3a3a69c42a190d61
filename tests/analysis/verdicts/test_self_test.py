"""A detection curve from measured comparisons of a model with itself."""

from __future__ import annotations

import pytest

from enginescope.analysis.verdicts.noise_floor import SameSides, self_test_of
from enginescope.core.errors import UsageError
from enginescope.judge.verdict import VerdictKind
from enginescope.records.verdict.noise import SelfTest
from tests.analysis.in_turn import crashed, in_turn, named


def same(ratio: float = 1.0, *, rounds: int = 12, seed: int = 1, is_late: bool = False):
    sides = named(*in_turn(ratio, rounds=rounds, noise=0.004, seed=seed))
    return SameSides(sides=sides, most=16, is_late=is_late)


def from_comparisons(*measured: SameSides) -> SelfTest:
    return self_test_of(measured, rounds=16, threshold_pct=1.0, duration_s=90.0)


@pytest.fixture(scope="module")
def three() -> SelfTest:
    return from_comparisons(same(), same(1.2, seed=2), same(rounds=3, seed=3, is_late=True))


def test_verdicts_of_the_measured_comparisons_are_counted(three) -> None:
    kinds = [one.kind for one in three.comparisons]
    assert kinds == [VerdictKind.SAME, VerdictKind.SLOWER, None]
    assert [one.rounds for one in three.comparisons] == [12, 12, 3]
    assert (three.ended, three.false_verdicts) == (2, 1)
    assert three.false_low_pct == pytest.approx(1.26, abs=0.01)
    assert three.false_high_pct == pytest.approx(98.74, abs=0.01)


def test_the_curve_is_drawn_from_all_rounds(three) -> None:
    assert three.counted == 27
    assert three.skipped == 0
    assert three.round_s == 60.0
    assert three.curve[0].difference_pct == 0
    at = [one.difference_pct for one in three.curve].index(three.smallest_pct)
    assert three.curve[at].found_pct >= 95
    assert three.curve[1].found_pct < 95
    assert not three.notices


def test_rounds_that_failed_are_skipped() -> None:
    one = same()
    a, b = (side.runs for side in one.sides)
    damaged = SameSides(sides=named((*a[:3], crashed(a[3]), *a[4:]), b), most=16, is_late=False)
    test = from_comparisons(damaged)
    assert (test.counted, test.skipped) == (11, 1)
    assert test.round_s == pytest.approx(60.0 * 12 / 11)
    assert [notice.code for notice in test.notices] == ["W-SHORT-SELF-TEST"]


def test_too_few_rounds_are_refused() -> None:
    with pytest.raises(UsageError, match="7 of 7 rounds count: a comparison needs 8"):
        from_comparisons(same(rounds=7))


def test_without_an_end_no_share_is_stated() -> None:
    test = from_comparisons(same(rounds=10, is_late=True))
    assert test.ended == 0
    assert test.false_low_pct is None
    assert test.false_high_pct is None
