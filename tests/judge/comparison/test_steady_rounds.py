import numpy as np
import pytest

from enginescope.judge.comparison import looks
from enginescope.judge.comparison.ratio import decide, ratio_of_rounds
from enginescope.judge.comparison.steady_rounds import disturbances, steady_rounds, uncertainty_pct
from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.judge.verdict import VerdictKind

QUIET = (0.3, 0.5, 0.2, 0.4)


def test_one_disturbed_process_of_either_side_takes_its_round_along() -> None:
    assert steady_rounds([QUIET, QUIET]) == (True,) * 4
    assert steady_rounds([(0.3, 9.0, 0.2, 0.4), QUIET]) == (True, False, True, True)
    assert steady_rounds([QUIET, (0.3, 0.5, 0.2, 9.0)]) == (True, True, True, False)
    assert all(steady_rounds([(9.0, 12.0, 8.0, 15.0)] * 2))
    assert steady_rounds([(9.0, 12.0, 8.0, 40.0)] * 2) == (True, True, True, False)
    assert steady_rounds([(None, 0.3, 9.0), (None, None, None)]) == (True, True, False)
    assert uncertainty_pct(np.ones(3)) is None
    assert steady_rounds([(), ()]) == ()
    draw = np.random.default_rng(6)
    known = [uncertainty_pct(1 + 0.1 * draw.standard_normal(400)) for _ in range(50)]
    assert np.mean(known) == pytest.approx(1.38, rel=0.1)  # 1.253 × 2.201 × 10 % / √400


def test_some_round_always_counts_and_a_drift_is_as_uncertain_as_it_is_far() -> None:
    draw = np.random.default_rng(5)
    for _ in range(200):
        assert any(steady_rounds(100 * draw.random((2, draw.integers(1, 9))) ** 6))
    # Its samples carry no interval, and are not too few.
    noise = 1 + 0.002 * np.random.default_rng(8).standard_normal(300)
    strong, mild = noise * np.linspace(1, 2, 300), noise * np.linspace(1, 1.02, 300)
    assert quantile_interval(strong, 0.5) is None
    assert uncertainty_pct(strong) == pytest.approx(100 * 0.95 / 3, rel=0.05)
    assert uncertainty_pct(mild) == pytest.approx(0.95, rel=0.3)
    drifting = (uncertainty_pct(strong), *QUIET[1:])
    assert steady_rounds([drifting, QUIET]) == (False, True, True, True)
    assert all(steady_rounds([(uncertainty_pct(mild), *QUIET[1:]), QUIET]))


def test_rounds_that_one_side_alone_disturbs_count() -> None:
    quiet, loud = [0.5] * 28, [0.5, 9.0] * 14
    found = disturbances([quiet, loud])
    assert (found.alone, found.several, found.unstable) == ((0, 14), 0, 1)
    assert all(found.counts)
    assert disturbances([loud, quiet]).unstable == 0
    assert steady_rounds([quiet, loud]) == (True, False) * 14  # the plain rule leaves them out
    a, b = [9.0] * 5 + [0.5] * 25, [9.0] * 15 + [0.5] * 15
    found = disturbances([a, b])
    assert (found.alone, found.several, found.unstable) == ((0, 10), 5, 1)
    assert found.counts == (False,) * 5 + (True,) * 25
    found = disturbances([[0.5] * 12, [20.0] * 12])
    assert (found.alone, found.unstable) == ((0, 12), 1)
    assert all(found.counts)


@pytest.mark.parametrize(
    ("a", "b", "unstable"), [(0, 8, None), (0, 9, 1), (2, 14, 1), (7, 9, None)]
)
def test_one_side_is_unstable_beyond_chance_alone(a: int, b: int, unstable: int | None) -> None:
    """The exact two-sided binomial test at 0.5 %: 8 of 8 happen to equal sides in 0.8 %."""
    rest = 40 - a - b
    found = disturbances([[9.0] * a + [0.5] * (b + rest), [0.5] * a + [9.0] * b + [0.5] * rest])
    assert (found.alone, found.unstable) == ((a, b), unstable)
    assert sum(found.counts) == (40 if unstable is not None else rest)


def test_sides_that_are_disturbed_alike_are_seldom_called_unstable() -> None:
    draw = np.random.default_rng(9)
    calls = 0
    for _ in range(1000):
        rows = np.where(draw.random((2, 60)) < 0.25, 20.0, 0.5).tolist()
        calls += disturbances(rows).unstable is not None
    assert calls <= 15


def test_left_out_rounds_leave_the_interval_right_and_narrower() -> None:
    """Bursts of load move a median and widen its interval; both sides' alike."""
    draw = np.random.default_rng(7)
    widths, held = {True: [], False: []}, {True: 0, False: 0}
    for _ in range(300):
        bursts = draw.random((2, 20)) < 0.25
        logs = draw.normal(0, 0.01, (2, 20)) + bursts * draw.exponential(0.2, (2, 20))
        steady = np.array(steady_rounds(np.where(bursts, 10.0, 1.0).tolist()))
        for left_out, some in ((True, steady), (False, np.ones(20, bool))):
            found = ratio_of_rounds(*np.exp(logs[:, some]), confidence=0.9).interval
            held[left_out] += found.low <= 1 <= found.high
            widths[left_out].append(found.high - found.low)
    assert np.median(widths[True]) < 0.6 * np.median(widths[False])
    assert held[True] >= 0.87 * 300


# When a comparison may end, and the confidence of its looks when it is continued.

STEADY = (0.5, 0.5)
EARLY_LOOKS = range(looks.EARLY_LOOK, looks.LOOKS[0])


def test_all_looks_of_a_comparison_add_up_to_its_confidence() -> None:
    for rounds in (1, looks.LOOKS[0], looks.LOOKS[-1]):
        assert (
            looks.tally_of(looks.LOOKS[-1], [STEADY] * rounds).confidence == looks.LOOK_CONFIDENCE
        )
    tally = looks.Tally(looks.LOOKS)
    errors = [1 - tally.confidence] * len(looks.LOOKS)
    for _ in range(20):
        tally.extend()
        errors.append(1 - tally.confidence)
    assert 0.049 < sum(errors) < 0.05 + 1e-9
    rounds = [STEADY if at % 2 else None for at in range(20)]
    tally = looks.tally_of(looks.LOOKS[-1], rounds)
    assert tally.complete == 10
    assert tally.take_look()
    assert not tally.take_look()
    assert not tally.is_over


def test_each_further_look_has_half_the_error() -> None:
    further = {60: (0, 0.99), 61: (1, 0.995), 120: (1, 0.995), 121: (2, 0.9975), 480: (3, 0.99875)}
    for rounds, (more, confidence) in further.items():
        tally = looks.tally_of(looks.LOOKS[-1], [STEADY] * rounds)
        assert tally.confidence == pytest.approx(confidence), rounds
        assert len(tally.looks) == len(looks.LOOKS) + more, rounds


def test_the_looks_are_the_same_wherever_the_rounds_are_split() -> None:
    def asked(tally: looks.Tally, rounds: int) -> list[int]:
        seen = []
        for _ in range(rounds):
            tally.add(STEADY)
            if tally.take_look():
                seen.append(tally.complete)
        return seen

    for split in (1, 7, 8, 29, 59):
        tally = looks.Tally(looks.looks_up_to(60))
        assert [*asked(tally, split), *asked(tally, 60 - split)] == [*EARLY_LOOKS, *looks.LOOKS]


def ends_with_a_difference(differences, confidences: dict[int, float]) -> bool:
    """Whether a comparison that goes on until it is decided says faster or slower."""
    b = np.exp(differences)
    for rounds, confidence in confidences.items():
        kind, _ = decide(ratio_of_rounds(np.ones(rounds), b[:rounds], confidence=confidence), 0.0)
        if kind in (VerdictKind.FASTER, VerdictKind.SLOWER):
            return True
    return False


def test_of_a_side_with_itself_that_is_continued_thrice_few_end_with_a_difference() -> None:
    """Threshold 0, so that only the looks keep an A/A comparison from a false verdict."""
    tally = looks.Tally(looks.LOOKS)
    confidences = dict.fromkeys(looks.LOOKS, tally.confidence)
    for _ in range(3):
        tally.extend()
        confidences[tally.looks[-1]] = tally.confidence
    assert list(confidences) == [*looks.LOOKS, 120, 240, 480]
    rows = 0.1 * np.random.default_rng(20).standard_normal((200, 480))
    false = sum(ends_with_a_difference(row, confidences) for row in rows)
    at_once = sum(ends_with_a_difference(row, dict.fromkeys(looks.LOOKS, 0.99)) for row in rows)
    plain = sum(ends_with_a_difference(row, dict.fromkeys(confidences, 0.95)) for row in rows)
    assert at_once <= false <= 0.05 * len(rows)
    assert plain > 0.1 * len(rows)  # what continuing at 95 % each time would do


def test_a_round_that_makes_earlier_ones_count_brings_one_look_however_far_it_jumps() -> None:
    """The limit is three times the usual uncertainty, and what is usual changes with each round."""
    tally = looks.Tally(looks.LOOKS)
    counting, asked = [], []
    for steadier in [1.0] * 4 + [3.0] * 5:
        tally.add((steadier, 7.0 if tally.measured == 0 else steadier))
        counting.append(tally.counting)
        asked.append(tally.take_look())
    assert counting[-2:] == [7, 9]
    assert asked == [place + 1 in (*EARLY_LOOKS, 9) for place in range(9)]
    assert tally.confidence == looks.LOOK_CONFIDENCE
    # Rounds can cease to count: one look then would be one too many.
    tally, counting, asked = looks.Tally(looks.LOOKS), [], []
    for row in [(2.0, 5.2)] * 2 + [(2.0, 2.0)] * 2 + [(1.5, 1.5)] * 6:
        tally.add(row)
        counting.append(tally.counting)
        asked.append(tally.take_look())
    assert counting[-3:] == [8, 7, 8]
    assert [place for place, was in enumerate(asked) if was] == [2, 3, 4, 5, 6, 7]
