import numpy as np
import pytest

from enginescope.analysis.verdicts.noise_floor import (
    SameSides,
    check_floor,
    middle_round_s,
    noise_floor,
    self_test_of,
)
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOKS
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.verdict import VerdictKind
from enginescope.records.verdict.noise import Decidable, SelfTest
from tests.analysis.in_turn import COMPARISON, crashed, in_turn, named


def test_the_noise_of_sides_of_one_job_their_times_and_what_they_decide() -> None:
    floor = noise_floor(named(*in_turn(1.0, rounds=20, noise=0.004)))
    assert (floor.comparison, floor.rounds, floor.round_s) == (COMPARISON, 20, 60.0)
    # a round's own level is ten times the scatter within it: all of it counts between processes
    assert floor.scatter_pct == pytest.approx(1.96 * 100 * 0.04, rel=0.4)
    assert floor.within_pct == pytest.approx(0.03, rel=0.6)
    by_rounds = {one.rounds: one.difference_pct for one in floor.decidable}
    assert by_rounds[1] is None
    assert 0.1 < by_rounds[LOOKS[-1]] < 1.0
    assert list(by_rounds) == sorted(by_rounds)
    assert [one.duration_s for one in floor.decidable] == [
        floor.round_s * one.rounds for one in floor.decidable
    ]
    assert {1, 2, 5, 15, LOOKS[-1]} == {one.rounds for one in floor.decidable}
    medians = [float(np.median(run.headline.values_ms)) for run in in_turn(1.0, rounds=20)[0]]
    assert noise_floor(named(*in_turn(1.0, rounds=20))).scatter_pct == pytest.approx(
        100 * np.expm1(1.96 * np.std(np.log(medians), ddof=1)), rel=0.4
    )


def test_noise_needs_undisturbed_rounds_of_both_sides() -> None:
    with pytest.raises(UsageError, match="3 of 3 rounds count: 8 are the fewest") as caught:
        noise_floor(named(*in_turn(1.0, rounds=3)))
    assert caught.value.hint == "measure again when the machine is idle, or with more --rounds"
    assert noise_floor(named(*in_turn(1.0, rounds=LOOKS[0]))).rounds == LOOKS[0]
    a, b = in_turn(1.0, rounds=12)
    assert noise_floor(named((*a[:3], crashed(a[3]), *a[4:-1]), b[1:])).rounds == 9
    late = replace(b[1], created=b[1].created.replace(":00.0", ":50.0"))
    assert middle_round_s(named(a[:2], (b[0], late))) == 60.0  # from the first start of either
    a, b = in_turn(1.0, rounds=24, noise=0.004)

    def disturbed(run):
        values = run.samples[0].values_ms * np.exp(np.random.default_rng(1).normal(0, 1, 200))
        return replace(run, samples=(Samples(metric="latency", values_ms=frozen(values)),))

    loud = tuple(disturbed(run) if run.turn.round >= 16 else run for run in b)
    calm, some = noise_floor(named(a[:16], b[:16])), noise_floor(named(a, loud))
    assert (some.rounds, some.scatter_pct) == (16, pytest.approx(calm.scatter_pct))
    assert some.round_s == pytest.approx(1.5 * calm.round_s)


@pytest.mark.parametrize(
    ("difference_pct", "said"),
    [(None, "detect no difference"), (50.4, "detect only a difference of 50 % or more")],
)
def test_a_floor_that_tells_nothing_is_not_recorded(difference_pct, said) -> None:
    floor = noise_floor(named(*in_turn(1.0, rounds=20)))
    check_floor(floor)
    decidable = [Decidable(duration_s=60.0, rounds=1, difference_pct=1.0)]
    usual = Decidable(duration_s=60.0, rounds=LOOKS[-1], difference_pct=difference_pct)
    with pytest.raises(UsageError, match=r"^its 20 rounds vary so much that 60 rounds") as caught:
        check_floor(replace(floor, decidable=(*decidable, usual)))
    assert said in str(caught.value)
    assert "above 50 % the machine was disturbed" in str(caught.value)
    assert caught.value.hint == "measure again when the machine is idle, with more --rounds"
    check_floor(replace(floor, decidable=(replace(usual, difference_pct=50.0),)))
    with pytest.raises(UsageError, match="no difference"):
        check_floor(replace(floor, decidable=tuple(decidable)))


# A detection curve from measured comparisons of a model with itself.


def same(ratio: float = 1.0, *, rounds: int = 12, seed: int = 1, is_late: bool = False):
    sides = named(*in_turn(ratio, rounds=rounds, noise=0.004, seed=seed))
    return SameSides(sides=sides, most=16, is_late=is_late)


def from_comparisons(*measured: SameSides) -> SelfTest:
    return self_test_of(measured, rounds=16, threshold_pct=1.0, duration_s=90.0)


@pytest.fixture(scope="module")
def three() -> SelfTest:
    return from_comparisons(same(), same(1.2, seed=2), same(rounds=3, seed=3, is_late=True))


def test_verdicts_are_counted_and_the_curve_is_drawn_from_all_rounds(three) -> None:
    assert [one.kind for one in three.comparisons] == [VerdictKind.SAME, VerdictKind.SLOWER, None]
    rounds = [(one.rounds, one.comparison) for one in three.comparisons]
    assert rounds == [(count, COMPARISON) for count in (12, 12, 3)]
    assert (three.ended, three.false_verdicts) == (2, 1)
    assert three.false_low_pct == pytest.approx(1.26, abs=0.01)
    assert (three.false_high_pct, three.counted) == (pytest.approx(98.74, abs=0.01), 27)
    assert (three.skipped, three.round_s, three.curve[0].difference_pct) == (0, 60.0, 0)
    at = [one.difference_pct for one in three.curve].index(three.smallest_pct)
    assert three.curve[at].found_pct >= 95
    assert three.curve[1].found_pct < 95
    multiples = [one.difference_pct / three.smallest_pct for one in three.curve]
    assert multiples == pytest.approx((0, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2), rel=0.05)
    for one in three.curve:
        assert 0 <= one.low_pct <= one.found_pct <= one.high_pct <= 100
        assert 0 <= one.wrong_pct <= 100 - one.same_pct
    assert not three.notices


def test_rounds_that_failed_are_skipped_and_too_few_refused() -> None:
    a, b = (side.runs for side in same().sides)
    damaged = SameSides(sides=named((*a[:3], crashed(a[3]), *a[4:]), b), most=16, is_late=False)
    test = from_comparisons(damaged)
    assert (test.counted, test.skipped) == (11, 1)
    assert test.round_s == pytest.approx(60.0 * 12 / 11)
    assert [notice.code for notice in test.notices] == ["W-SHORT-SELF-TEST"]
    with pytest.raises(UsageError, match="7 of 7 rounds count: a comparison needs 8"):
        from_comparisons(same(rounds=7))
    test = from_comparisons(same(rounds=10, is_late=True))
    assert (test.ended, test.false_low_pct) == (0, None)
    assert test.false_high_pct is None
