from __future__ import annotations

import numpy as np

from enginescope.judge.comparing import compare
from enginescope.judge.comparison.run_to_run import process_states, unsettled_states
from enginescope.judge.sources import Recorded
from enginescope.judge.verdict import Reason, VerdictKind

NOISE = 1 + 0.003 * np.random.default_rng(3).standard_normal(30)
ONE = NOISE[:8]
TWO = NOISE[:8] * (1.0, 1.05, 1.05, 1.0, 1.05, 1.0, 1.05, 1.05)


def test_processes_of_two_levels_have_states() -> None:
    found = process_states(TWO, 1.0)
    assert found is not None
    assert (found.low, found.high) == (3, 5)
    assert 4 < found.gap_pct < 6
    assert process_states(TWO, 10.0) is None  # nearer than what matters


def test_one_level_and_one_disturbed_process_have_none() -> None:
    assert process_states(ONE, 1.0) is None
    assert process_states([*ONE[:7], 2.0], 1.0) is None
    assert process_states(TWO[:5], 1.0) is None


def test_a_difference_within_the_states_is_open_until_thirty_rounds() -> None:
    assert unsettled_states((ONE, TWO), 1.04, 1.0) is not None
    assert unsettled_states((ONE, TWO), 1.5, 1.0) is None  # no state is so far away
    assert unsettled_states((ONE, ONE), 1.04, 1.0) is None
    thirty = NOISE * np.where(np.arange(30) % 2, 1.05, 1.0)
    assert unsettled_states((NOISE, thirty), 1.04, 1.0) is None
    assert unsettled_states((NOISE[:29], thirty[:29]), 1.04, 1.0) is not None


def test_any_two_sides_are_compared_by_that_rule() -> None:
    one = Recorded(tuple([value] for value in NOISE), "one")
    two = Recorded(
        tuple([value * (1.06, 1.2)[at % 3 > 0]] for at, value in enumerate(NOISE)), "two"
    )
    few = compare(one, two, rounds=16)
    assert (few.verdict.kind, few.verdict.reason) == (
        VerdictKind.INCONCLUSIVE,
        Reason.PROCESS_STATES,
    )
    assert "two levels, 13 % apart" in (few.verdict.detail or "")
    assert few.next_step == "about 14 more rounds would probably settle it"
    assert compare(one, two, rounds=30).verdict.kind is VerdictKind.SLOWER
