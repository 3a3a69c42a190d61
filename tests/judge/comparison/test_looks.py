"""When a comparison may end, and the confidence of its looks when it is continued."""

from __future__ import annotations

import numpy as np
import pytest

from enginescope.judge.comparison.looks import Tally, looks_up_to, tally_of
from enginescope.judge.comparison.ratio import (
    EARLY_LOOK,
    LOOK_CONFIDENCE,
    LOOKS,
    decide,
    ratio_of_rounds,
)
from enginescope.judge.verdict import VerdictKind

STEADY = (0.5, 0.5)
EARLY_LOOKS = range(EARLY_LOOK, LOOKS[0])


def test_a_comparison_within_its_looks_has_their_confidence() -> None:
    for rounds in (1, LOOKS[0], LOOKS[-1]):
        assert tally_of(LOOKS[-1], [STEADY] * rounds).confidence == LOOK_CONFIDENCE


@pytest.mark.parametrize(
    ("rounds", "further", "confidence"),
    [(60, 0, 0.99), (61, 1, 0.995), (120, 1, 0.995), (121, 2, 0.9975), (480, 3, 0.99875)],
)
def test_each_further_look_has_half_the_error(rounds, further, confidence) -> None:
    tally = tally_of(LOOKS[-1], [STEADY] * rounds)
    assert tally.confidence == pytest.approx(confidence)
    assert len(tally.looks) == len(LOOKS) + further


def test_the_errors_of_all_looks_add_up_to_five_percent() -> None:
    tally = Tally(LOOKS)
    errors = [1 - tally.confidence] * len(LOOKS)
    for _ in range(20):
        tally.extend()
        errors.append(1 - tally.confidence)
    assert 0.049 < sum(errors) < 0.05 + 1e-9


def test_rounds_with_a_failed_process_do_not_bring_a_look_nearer() -> None:
    rounds = [STEADY if at % 2 else None for at in range(20)]
    tally = tally_of(LOOKS[-1], rounds)
    assert tally.complete == 10
    assert tally.take_look()
    assert not tally.take_look()
    assert not tally.is_over


def test_the_looks_are_the_same_wherever_the_rounds_are_split() -> None:
    def asked(tally: Tally, rounds: int) -> list[int]:
        seen = []
        for _ in range(rounds):
            tally.add(STEADY)
            if tally.take_look():
                seen.append(tally.complete)
        return seen

    for split in (1, 7, 8, 29, 59):
        tally = Tally(looks_up_to(60))
        assert [*asked(tally, split), *asked(tally, 60 - split)] == [*EARLY_LOOKS, *LOOKS]


def ends_with_a_difference(differences, confidences: dict[int, float]) -> bool:
    """Whether a comparison that goes on until it is decided says faster or slower."""
    b = np.exp(differences)
    for rounds, confidence in confidences.items():
        ones = np.ones(rounds)
        kind, _ = decide(ratio_of_rounds(ones, b[:rounds], confidence=confidence), 0.0)
        if kind in (VerdictKind.FASTER, VerdictKind.SLOWER):
            return True
    return False


def test_of_a_side_with_itself_that_is_continued_thrice_few_end_with_a_difference() -> None:
    """Threshold 0, so that only the looks keep an A/A comparison from a false verdict."""
    tally = Tally(LOOKS)
    confidences = dict.fromkeys(LOOKS, tally.confidence)
    for _ in range(3):
        tally.extend()
        confidences[tally.looks[-1]] = tally.confidence
    assert list(confidences) == [*LOOKS, 120, 240, 480]
    draw = np.random.default_rng(20)
    rows = 0.1 * draw.standard_normal((500, 480))
    false = sum(ends_with_a_difference(row, confidences) for row in rows)
    at_once = sum(ends_with_a_difference(row, dict.fromkeys(LOOKS, 0.99)) for row in rows)
    plain = sum(ends_with_a_difference(row, dict.fromkeys(confidences, 0.95)) for row in rows)
    assert at_once <= false <= 0.05 * len(rows)
    assert plain > 0.1 * len(rows)  # what continuing at 95 % each time would do


def test_a_round_that_makes_earlier_ones_count_brings_one_look_however_far_it_jumps() -> None:
    """The limit is three times the usual uncertainty, and what is usual changes with each round."""
    tally = Tally(LOOKS)
    counting, asked = [], []
    for steadier in [1.0] * 4 + [3.0] * 5:
        tally.add((steadier, 7.0 if tally.measured == 0 else steadier))
        counting.append(tally.counting)
        asked.append(tally.take_look())
    assert counting[-2:] == [7, 9]
    assert asked == [place + 1 in (*EARLY_LOOKS, 9) for place in range(9)]
    assert tally.confidence == LOOK_CONFIDENCE


def test_a_look_that_is_reached_again_is_not_asked_at_again() -> None:
    """Rounds can cease to count: one look then would be one too many."""
    tally = Tally(LOOKS)
    counting, asked = [], []
    for row in [(2.0, 5.2)] * 2 + [(2.0, 2.0)] * 2 + [(1.5, 1.5)] * 6:
        tally.add(row)
        counting.append(tally.counting)
        asked.append(tally.take_look())
    assert counting[-3:] == [8, 7, 8]
    assert [place for place, was in enumerate(asked) if was] == [2, 3, 4, 5, 6, 7]
