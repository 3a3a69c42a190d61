"""Verdicts from intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.record import replace
from enginescope.judge.comparison.ratio import (
    LOOK_CONFIDENCE,
    LOOKS,
    chance_of_decision,
    corrected_ratio,
    decide,
    more_needed,
    ratio_of_rounds,
)
from enginescope.judge.samples import Interval
from enginescope.judge.verdict import RatioEstimate, Reason, Verdict, VerdictKind


def estimate(low: float, ratio: float, high: float, n: int = 10) -> RatioEstimate:
    interval = Interval(low=low, high=high)
    return RatioEstimate(ratio=ratio, interval=interval, method="rounds", n_a=n, n_b=n)


@pytest.mark.parametrize(
    ("ends", "kind"),
    [
        ((0.95, 0.96, 0.97), VerdictKind.FASTER),
        ((0.97, 0.98, 0.999), VerdictKind.FASTER),
        ((1.02, 1.03, 1.04), VerdictKind.SLOWER),
        ((0.995, 1.0, 1.005), VerdictKind.SAME),
        ((1.001, 1.004, 1.007), VerdictKind.SAME),
        ((0.97, 0.98, 1.001), VerdictKind.INCONCLUSIVE),
        ((0.985, 0.995, 0.999), VerdictKind.INCONCLUSIVE),
    ],
)
def test_verdicts(ends, kind) -> None:
    assert decide(estimate(*ends), 1.0)[0] is kind


def test_a_higher_rate_is_faster() -> None:
    found = estimate(1.02, 1.03, 1.04)
    assert decide(found, 1.0, higher_is_better=True)[0] is VerdictKind.FASTER


def test_no_interval_decides_nothing() -> None:
    none = RatioEstimate(ratio=3.0, interval=None, method="rounds", n_a=3, n_b=3)
    assert decide(none, 1.0) == (VerdictKind.INCONCLUSIVE, Reason.NO_INTERVAL)
    assert more_needed(none, 1.0) is None


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


def test_half_the_width_takes_four_times_as_many() -> None:
    wide = estimate(math.exp(-0.02), math.exp(0.02), math.exp(0.06), n=10)
    assert more_needed(wide, 1.0) == pytest.approx(30, abs=1)


def test_what_lies_just_inside_the_threshold_takes_for_ever() -> None:
    edge = estimate(math.exp(-0.05), 1.01 - 1e-6, math.exp(0.05))
    assert more_needed(edge, 1.0) is None


def test_what_no_number_takes_away_is_left_standing() -> None:
    wide = estimate(math.exp(-0.03), math.exp(0.02), math.exp(0.07))
    assert more_needed(wide, 1.0, scatter=0.02) is None
    assert more_needed(wide, 1.0, scatter=0.015) > more_needed(wide, 1.0)


def looks_at(logs) -> list[RatioEstimate]:
    b = np.exp(logs)
    ones = np.ones(b.size)
    return [ratio_of_rounds(ones[:n], b[:n], confidence=LOOK_CONFIDENCE) for n in LOOKS]


def test_the_first_look_already_has_an_interval() -> None:
    assert looks_at(np.zeros(LOOKS[-1]))[0].interval is not None


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


def test_a_ratio_far_from_the_limit_needs_no_correction() -> None:
    far = RatioEstimate(
        ratio=0.5,
        interval=Interval(low=0.49, high=0.51, confidence=0.99),
        method="rounds",
        n_a=8,
        n_b=8,
    )
    assert corrected_ratio(far, 1.0) == pytest.approx(0.5, rel=1e-6)
    near = replace(far, interval=Interval(low=0.45, high=1.2, confidence=0.99))
    assert corrected_ratio(near, 1.0) is None


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
        more = draw.normal(truth, sd, last - first)
        later = np.exp([*differences, *more])
        kind, _ = decide(ratio_of_rounds(np.ones(last), later, confidence=0.99), 1.0)
        decided += kind is not VerdictKind.INCONCLUSIVE
    assert chance_of_decision(found, 1.0, last) == pytest.approx(decided / 300, abs=0.1)
    assert chance_of_decision(found, 1.0, first) == 0.0
    assert chance_of_decision(estimate(1.02, 1.03, 1.04), 1.0, 20) == pytest.approx(1.0, abs=0.01)
