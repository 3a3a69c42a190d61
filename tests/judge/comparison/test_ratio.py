import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS
from enginescope.judge.comparison.ratio import (
    MeasuredRatio,
    chance_of_decision,
    corrected_ratio,
    decide,
    mean_ratio,
    more_needed,
    ratio_by_scatter,
    ratio_of_few_processes,
    ratio_of_processes,
    ratio_of_rounds,
)
from enginescope.judge.samples import Interval
from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.judge.verdict import RatioEstimate, Reason, Verdict, VerdictKind
from tests.judge.draws import ar1


def test_what_a_round_shares_divides_out_and_sides_exchanged_give_the_inverse() -> None:
    shared = np.exp(np.random.default_rng(0).normal(0, 0.3, 12))
    found = ratio_of_rounds(list(2 * shared), list(2.2 * shared))
    assert (found.ratio, found.interval.low) == (pytest.approx(1.1), pytest.approx(1.1))
    assert found.interval.high == pytest.approx(1.1)
    assert (found.method, found.n_a, found.n_b) == ("rounds", 12, 12)
    apart = ratio_of_processes(list(2 * shared), list(2.2 * shared)).interval
    assert apart.low < 1 < apart.high
    a, b = [1.0, 1.1, 0.9, 1.05], [2.0, 2.3, 1.9, 2.2, 2.1]
    there, back = ratio_of_processes(a, b), ratio_of_processes(b, a)
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert there.interval.low == pytest.approx(1 / back.interval.high)


def test_few_processes_give_a_ratio_and_no_interval() -> None:
    found = ratio_of_processes([1.0, 1.1], [2.0, 2.2])
    assert (found.interval, found.ratio) == (None, pytest.approx(2.0, rel=0.02))
    with pytest.raises(UsageError, match="not above 0"):
        ratio_by_scatter([np.zeros(100)], [np.ones(100)])
    with pytest.raises(UsageError, match="both sides"):
        ratio_of_rounds([1.0], [1.0, 2.0])


def test_one_process_a_side_adds_both_intervals_in_squares() -> None:
    draw = np.random.default_rng(1)
    a, b = draw.normal(1, 0.05, 900), draw.normal(1.2, 0.05, 400)
    found = ratio_by_scatter([a], [b])
    of_a, of_b = quantile_interval(a, 0.5), quantile_interval(b, 0.5)
    down = math.hypot(math.log(np.median(b) / of_b.low), math.log(of_a.high / np.median(a)))
    assert math.log(found.ratio / found.interval.low) == pytest.approx(down)
    assert found.ratio == pytest.approx(np.median(b) / np.median(a))
    draw = np.random.default_rng(1)
    a, b = draw.normal(1, 0.001, 900), draw.normal(1, 0.001, 900)
    found = ratio_by_scatter([a], [b], scatter=0.02)
    assert math.log(found.interval.high / found.ratio) > 0.02 * math.sqrt(2)
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


def test_two_processes_count_as_one_median_with_an_assumed_scatter() -> None:
    draw = np.random.default_rng(3)
    sides = [[draw.normal(1, 0.001, 400) for _ in range(2)] for _ in range(2)]
    one = ratio_by_scatter(sides[0][:1], sides[1][:1], scatter=0.05)
    two = ratio_by_scatter(*sides, scatter=0.05)
    for found in (one, two):
        assert math.log(found.interval.high / found.ratio) == pytest.approx(0.05 * 2**0.5, rel=0.01)
    assert (two.n_a, two.n_b) == (800, 800)
    wandering = 1 + 0.01 * np.arange(200) / 14
    assert ratio_by_scatter([sides[0][0], wandering], sides[1]).interval is None
    # Two equal processes do not narrow the interval, and do not widen it.
    draw = np.random.default_rng(5)
    a, b = draw.normal(1, 0.05, 400), draw.normal(1.2, 0.05, 400)
    one, two = ratio_by_scatter([a], [b]), ratio_by_scatter([a, a], [b, b])
    assert two.interval.low == pytest.approx(one.interval.low)
    assert two.interval.high == pytest.approx(one.interval.high)


# The geometric mean of ratios, and whether its interval covers.


def ratio(value: float, half: float = 0.01, confidence: float = 0.95) -> MeasuredRatio:
    ends = Interval(low=value * math.exp(-half), high=value * math.exp(half), confidence=confidence)
    return MeasuredRatio(value, ends)


def test_the_mean_of_ratios_has_the_interval_of_its_parts() -> None:
    mean, interval = mean_ratio([ratio(2.0), ratio(0.5)])
    assert mean == pytest.approx(1.0)
    assert math.log(interval.high) == pytest.approx(0.01 / math.sqrt(2))
    assert math.log(interval.low) == pytest.approx(-0.01 / math.sqrt(2))
    _, interval = mean_ratio([ratio(1.0)] * 4, is_shared=True)
    assert math.log(interval.high) == pytest.approx(0.01)
    mean, interval = mean_ratio([ratio(1.1), MeasuredRatio(1.1, None)])
    assert (mean, interval) == (pytest.approx(1.1), None)
    mean, interval = mean_ratio([ratio(1.0), MeasuredRatio(4.0, None, is_exact=True)])
    assert mean == pytest.approx(2.0)
    assert math.log(interval.high / mean) == pytest.approx(0.005)
    _, interval = mean_ratio([MeasuredRatio(4.0, None, is_exact=True)] * 2)
    assert (interval.low, interval.high) == pytest.approx((4.0, 4.0))
    _, interval = mean_ratio([ratio(1.0), ratio(1.0, 2.5758293 / 1.9599640 * 0.01, 0.99)])
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
            estimate = ratio_of_rounds(np.ones(16), value * np.exp(0.03 * draw.standard_normal(16)))
            found.append(MeasuredRatio(estimate.ratio, estimate.interval))
        _, interval = mean_ratio(found)
        covered += interval.low <= math.exp(np.log(true).mean()) <= interval.high
    assert 0.92 <= covered / 400 <= 0.985


# Verdicts from intervals.


def estimate(low: float, ratio: float, high: float, n: int = 10) -> RatioEstimate:
    interval = Interval(low=low, high=high)
    return RatioEstimate(ratio=ratio, interval=interval, method="rounds", n_a=n, n_b=n)


VERDICTS = {
    VerdictKind.FASTER: [(0.95, 0.96, 0.97), (0.97, 0.98, 0.999)],
    VerdictKind.SLOWER: [(1.02, 1.03, 1.04)],
    VerdictKind.SAME: [(0.995, 1.0, 1.005), (1.001, 1.004, 1.007)],
    VerdictKind.INCONCLUSIVE: [(0.97, 0.98, 1.001), (0.985, 0.995, 0.999)],
}


@pytest.mark.parametrize("kind", VERDICTS)
def test_verdicts(kind) -> None:
    assert {decide(estimate(*ends), 1.0)[0] for ends in VERDICTS[kind]} == {kind}


def test_a_verdict_names_how_many_more_would_settle_it() -> None:
    assert decide(estimate(1.02, 1.03, 1.04), 1.0, higher_is_better=True)[0] is VerdictKind.FASTER
    none = RatioEstimate(ratio=3.0, interval=None, method="rounds", n_a=3, n_b=3)
    assert decide(none, 1.0) == (VerdictKind.INCONCLUSIVE, Reason.NO_INTERVAL)
    assert more_needed(none, 1.0) is None
    wide = estimate(math.exp(-0.02), math.exp(0.02), math.exp(0.06), n=10)
    assert more_needed(wide, 1.0) == pytest.approx(30, abs=1)
    assert more_needed(estimate(math.exp(-0.05), 1.01 - 1e-6, math.exp(0.05)), 1.0) is None
    wide = estimate(math.exp(-0.03), math.exp(0.02), math.exp(0.07))
    assert more_needed(wide, 1.0, scatter=0.02) is None
    assert more_needed(wide, 1.0, scatter=0.015) > more_needed(wide, 1.0)
    assert looks_at(np.zeros(LOOKS[-1]))[0].interval is not None
    far, near = (
        replace(estimate(0, 0.5, 1, n=8), interval=Interval(low=low, high=high, confidence=0.99))
        for low, high in ((0.49, 0.51), (0.45, 1.2))
    )
    assert corrected_ratio(far, 1.0) == pytest.approx(0.5, rel=1e-6)
    assert corrected_ratio(near, 1.0) is None


@given(st.floats(-0.1, 0.1), st.floats(0, 0.1), st.floats(0, 0.1), st.floats(0.1, 5))
def test_sides_exchanged_exchange_the_verdict(middle, down, up, threshold) -> None:
    there = estimate(*(math.exp(one) for one in (middle - down, middle, middle + up)))
    back = estimate(*(math.exp(-one) for one in (middle + up, middle, middle - down)))
    opposite = {VerdictKind.FASTER: VerdictKind.SLOWER, VerdictKind.SLOWER: VerdictKind.FASTER}
    found = decide(there, threshold)[0]
    edges = [math.log1p(threshold / 100), 0.0]
    ends = (middle - down, middle, middle + up)
    if all(abs(abs(one) - edge) > 1e-9 for one in ends for edge in edges):
        assert decide(back, threshold)[0] is opposite.get(found, found)


def looks_at(logs) -> list[RatioEstimate]:
    b = np.exp(logs)
    ones = np.ones(b.size)
    return [ratio_of_rounds(ones[:n], b[:n], confidence=LOOK_CONFIDENCE) for n in LOOKS]


@pytest.mark.parametrize("heavy", [False, True], ids=["normal", "heavy tails"])
def test_all_looks_together_miss_in_less_than_one_of_twenty_comparisons(heavy) -> None:
    draw = np.random.default_rng(11)
    shape = (400, LOOKS[-1])
    logs = draw.standard_t(2, shape) if heavy else draw.standard_normal(shape)
    missed = [
        any(not one.interval.low <= 1 <= one.interval.high for one in looks_at(0.1 * row))
        for row in logs
    ]
    assert 0 < sum(missed) <= 0.05 * len(missed)


@pytest.mark.parametrize(("planted_pct", "least"), [(2, 0.8), (3, 0.95)])
def test_a_slowdown_is_found_where_processes_scatter_by_two_percent(planted_pct, least) -> None:
    differences = np.sqrt(2) * 0.02 * np.random.default_rng(12).standard_normal((200, LOOKS[-1]))
    found = [
        any(decide(one, 1.0)[0] is VerdictKind.SLOWER for one in looks_at(row))
        for row in differences + np.log1p(planted_pct / 100)
    ]
    assert np.mean(found) >= least


@pytest.mark.parametrize("shift", [0.03, 0.05])
def test_an_early_end_overstates_and_the_corrected_ratio_less_so(shift: float) -> None:
    """Rounds that scatter by 10 %, ended at the first look that decides."""
    draw = np.random.default_rng(3)
    shown, corrected = [], []
    for _ in range(300):
        differences = shift + 0.1 * draw.standard_normal(60)
        for rounds in LOOKS:
            estimate = ratio_of_rounds(
                np.ones(rounds), np.exp(differences[:rounds]), confidence=LOOK_CONFIDENCE
            )
            fixed = corrected_ratio(estimate, 1.0)
            if fixed is not None:
                assert 1 < estimate.interval.low <= fixed <= estimate.ratio
                shown.append(np.log(estimate.ratio))
                corrected.append(np.log(fixed))
                break
    assert np.mean(shown) > 1.2 * shift
    assert abs(np.mean(corrected) - shift) < 0.8 * abs(np.mean(shown) - shift) + 0.005


@pytest.mark.parametrize(
    ("ends", "higher_is_better", "expected"),
    [
        ((0.99, 1.03, 1.05), False, False),  # it may be worse, or nothing
        ((0.90, 0.99, 1.01), False, True),  # wide on the side that does no harm
        ((0.90, 0.97, 1.03), False, False),
        ((0.99, 1.01, 1.2), True, True),
        ((0.97, 1.01, 1.2), True, False),
    ],
)
def test_an_open_verdict_may_rule_out_a_loss(ends, higher_is_better, expected) -> None:
    verdict = Verdict(
        metric="latency",
        kind=VerdictKind.INCONCLUSIVE,
        reason=Reason.INTERVAL_TOO_WIDE,
        estimate=estimate(*ends),
        threshold_pct=2.0,
        higher_is_better=higher_is_better,
    )
    assert verdict.rules_out_a_loss is expected
    assert not replace(verdict, reason=Reason.UNSTABLE).rules_out_a_loss
    assert not replace(verdict, estimate=None).rules_out_a_loss


def test_the_chance_of_a_decision_is_how_often_later_looks_decide() -> None:
    """Of a truth that is drawn as the first look leaves it."""
    draw, sd, first, last = np.random.default_rng(7), 0.02, 16, 60
    differences = draw.normal(0, 1, first)
    differences *= sd / differences.std(ddof=1)
    found = ratio_of_rounds(np.ones(first), np.exp(differences), confidence=0.99)
    truths = draw.normal(math.log(found.ratio), sd / math.sqrt(first), 300)
    decided = 0
    for truth in truths:
        later = np.exp([*differences, *draw.normal(truth, sd, last - first)])
        kind, _ = decide(ratio_of_rounds(np.ones(last), later, confidence=0.99), 1.0)
        decided += kind is not VerdictKind.INCONCLUSIVE
    assert chance_of_decision(found, 1.0, last) == pytest.approx(decided / 300, abs=0.1)
    assert chance_of_decision(found, 1.0, first) == 0.0
    assert chance_of_decision(estimate(1.02, 1.03, 1.04), 1.0, 20) == pytest.approx(1.0, abs=0.01)
