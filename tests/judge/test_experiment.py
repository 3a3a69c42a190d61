from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.judge.comparison.looks import EARLY_LOOK, LOOKS, looks_up_to
from enginescope.judge.errors import UsageError
from enginescope.judge.experiment import (
    GIVE_UP_AFTER,
    Ended,
    Experiment,
    Measured,
    Position,
    Rules,
    Standing,
    standing,
)
from enginescope.judge.verdict import VerdictKind

STEADY = np.linspace(0.999, 1.001, 400)
DISTURBED = np.repeat([1.0, 9.0], 200)  # one step: its median may be anywhere


class Source:
    """Measures nothing: plays what a test names by side, round and attempt."""

    def __init__(self) -> None:
        self.seen: list[Position] = []
        self.failing: set[tuple[int, int, int]] = set()
        self.disturbed: set[tuple[int, int, int]] = set()
        self.interrupted: tuple[int, int] | None = None
        self.is_final = False

    def __call__(self, position: Position) -> Measured[int]:
        if self.interrupted == (position.side, position.round):
            raise KeyboardInterrupt
        self.seen.append(position)
        key = (position.side, position.round, position.attempt)
        number = len(self.seen)
        if key in self.failing:
            return Measured(source=number, values=None, failure="gone", is_final=self.is_final)
        return Measured(source=number, values=DISTURBED if key in self.disturbed else STEADY)


def run(source: Source, sides: int = 2, *, seed: int = 0, **rules) -> Experiment[int]:
    experiment = Experiment(sides, source, seed=seed)
    experiment.run(Rules(**rules))
    return experiment


def in_rounds(source: Source, sides: int) -> list[tuple[int, ...]]:
    order = [position.side for position in source.seen if not position.attempt]
    return [tuple(order[at : at + sides]) for at in range(0, len(order), sides)]


def test_every_side_once_a_round_in_an_order_that_the_seed_draws() -> None:
    first, again, other = Source(), Source(), Source()
    assert run(first, 3, seed=5).ended is Ended.LAST_LOOK
    run(again, 3, seed=5)
    run(other, 3, seed=6)
    assert all(sorted(order) == [0, 1, 2] for order in in_rounds(first, 3))
    assert (len(in_rounds(first, 3)), first.seen) == (LOOKS[-1], again.seen)
    assert first.seen != other.seen
    source = Source()
    run(source, seed=3, looks=(240,))
    pairs = Counter(pairwise(in_rounds(source, 2)))
    assert len(pairs) == 4
    assert all(abs(count - 60) < 25 for count in pairs.values())


def test_it_is_asked_at_the_looks_and_ends_when_more_would_not_settle_it() -> None:
    asked: list[int] = []

    def stands(experiment: Experiment[int]) -> Standing:
        asked.append(len(experiment.whole_rows()))
        return Standing.DECIDED if asked[-1] == LOOKS[1] else Standing.GO_ON

    experiment = run(Source(), stands=stands)
    assert (asked, experiment.ended) == (list(LOOKS[:2]), Ended.DECIDED)
    assert len(experiment.whole_rows()) == LOOKS[1]
    assert run(Source(), stands=lambda _: Standing.VAIN).ended is Ended.VAIN
    kinds = [standing(kind) for kind in (VerdictKind.INCONCLUSIVE, VerdictKind.SAME)]
    assert kinds == [Standing.GO_ON, Standing.DECIDED]
    experiment = run(Source(), is_vain=lambda _: True)
    assert (experiment.ended, len(experiment.whole_rows())) == (Ended.VAIN, 1)


def test_a_disturbed_measurement_is_taken_again_up_to_a_quarter() -> None:
    source = Source()
    source.disturbed = {(1, 3, 0)}
    experiment = run(source, looks=(LOOKS[0],))
    again = [entry for entry in experiment.table if entry.position.attempt]
    assert [(entry.position.side, entry.position.round) for entry in again] == [(1, 3)]
    assert len(experiment.table) == 2 * LOOKS[0] + 1
    assert experiment.whole_rows()[3][1].measured is again[0].measured
    source = Source()
    source.disturbed = {(1, 3, 0), (1, 3, 1), (0, 5, 0), (0, 5, 1)}
    experiment = run(source, looks=(LOOKS[0],))
    assert len(experiment.whole_rows()) == LOOKS[0]
    assert experiment.tally((LOOKS[0],)).counting == LOOKS[0] - 2
    source = Source()
    source.disturbed = {(side, number, 0) for side in (0, 1) for number in range(1_000)}
    run(source, looks=(8,))
    assert sum(position.attempt for position in source.seen) == 2 * 8 // 4


@pytest.mark.parametrize("every", [1, 2])
def test_a_side_that_is_unstable_by_itself_takes_no_more_rounds(every: int) -> None:
    source = Source()
    source.disturbed = {(1, number, at) for number in range(0, 1_000, every) for at in (0, 1)}
    assert len(run(source).whole_rows()) == LOOKS[-1]


def test_a_failed_measurement_is_taken_again_at_once_unless_it_failed_for_good() -> None:
    source = Source()
    source.failing = {(1, 3, 0)}
    experiment = run(source, looks=(LOOKS[0],))
    assert len(experiment.whole_rows()) == LOOKS[0]
    assert sum(entry.measured.failure == "gone" for entry in experiment.table) == 1
    source = Source()
    source.failing = {(1, number, attempt) for number in range(20) for attempt in (0, 1)}
    assert run(source).ended is Ended.GIVEN_UP
    assert sum(position.side for position in source.seen) == GIVE_UP_AFTER
    source = Source()
    source.failing, source.is_final = {(1, 0, 0)}, True
    assert (run(source).ended, len(source.seen)) == (Ended.GIVEN_UP, 2)


def test_an_interrupt_leaves_what_was_measured() -> None:
    source = Source()
    source.interrupted = (1, 4)
    experiment = run(source)
    assert (experiment.ended, len(experiment.whole_rows())) == (Ended.INTERRUPTED, 4)
    source = Source()
    source.interrupted = (1, 0)
    with pytest.raises(KeyboardInterrupt):
        run(source)


@pytest.mark.parametrize("cut", [(0, 3), (1, 8), (1, 20)])
def test_a_continued_experiment_is_the_whole_one(cut: tuple[int, int]) -> None:
    """Orders go on as they were drawn; the looks of recorded rounds are taken as before."""
    whole, first, rest = Source(), Source(), Source()
    looks: dict[str, list[int]] = {"whole": [], "cut": []}

    def noting(name: str) -> dict[str, object]:
        def stands(so_far: Experiment[int]) -> Standing:
            looks[name].append(len(so_far.whole_rows()))
            return Standing.GO_ON

        return {"stands": stands}

    run(whole, seed=7, **noting("whole"))
    first.interrupted = cut
    begun = run(first, seed=7, **noting("cut"))
    complete = [entry for entry in begun.table if entry.position.round < len(begun.whole_rows())]
    Experiment(2, rest, seed=7, recorded=complete).run(Rules(**noting("cut")))
    seen = [*(entry.position for entry in complete), *rest.seen]
    assert (seen, sorted(set(looks["cut"]))) == (whole.seen, looks["whole"])


def test_the_maximum_time_and_lost_sides_end_it() -> None:
    experiment = run(Source(), max_time_s=0.0, min_rounds=5)
    assert (experiment.ended, len(experiment.whole_rows())) == (Ended.LATE, 5)
    experiment = run(Source(), looks=(8, 16), max_time_s=0.0)
    near, far = experiment.left_s((8, 16), 1)
    assert 0 < near < far
    assert far / near == pytest.approx(15 / 7)
    assert Experiment(2, Source()).left_s((8,), 0) is None
    experiment = Experiment(3, Source())
    assert (experiment.run_round(deadline=0.0), experiment.whole_rows()) == ({}, [])
    assert len(experiment.table) == 1
    experiment = Experiment(3, Source(), seed=1)
    assert set(experiment.run_round()) == {0, 1, 2}
    assert (set(experiment.run_round([0, 2])), len(experiment.whole_rows())) == ({0, 2}, 1)
    with pytest.raises(UsageError, match="without sides"):
        Experiment(0, Source())
    assert looks_up_to(LOOKS[-1]) == LOOKS


@given(st.integers(1, 1_000))
def test_looks_are_four_at_most_and_none_before_there_can_be_an_interval(rounds: int) -> None:
    looks = looks_up_to(rounds)
    assert 1 <= len(looks) <= len(LOOKS)
    assert looks[0] >= LOOKS[0]
    assert looks[-1] == max(rounds, LOOKS[0])


class Levels:
    """Plays processes whose level is that of the side, with a scatter."""

    def __init__(self, scatter: float, *levels: float) -> None:
        self.scatter, self.levels = scatter, levels
        self.draw = np.random.default_rng(5)

    def __call__(self, position: Position) -> Measured[int]:
        level = self.levels[position.side] * np.exp(self.scatter * self.draw.standard_normal())
        return Measured(source=0, values=level * STEADY)


@pytest.mark.parametrize(("factor", "rounds"), [(5.0, 3), (0.2, 3), (1.2, 8)])
def test_an_obvious_difference_ends_at_the_early_look(factor: float, rounds: int) -> None:
    experiment = Experiment(2, Levels(0.02, 1.0, factor))
    assert experiment.run(Rules(stands=lambda _: Standing.DECIDED)) is Ended.DECIDED
    assert len(experiment.whole_rows()) == rounds


def test_an_obvious_difference_ends_early_where_the_machine_never_calms_down() -> None:
    """One process of each round but the first wanders by 40 %."""

    def measure(position: Position) -> Measured[int]:
        level = 1.0 + 4 * position.side
        draw = np.random.default_rng([position.round, position.side, position.attempt])
        is_disturbed = position.round > 0 and position.side == position.round % 2
        wander = np.repeat(draw.standard_normal(12), len(STEADY) // 12 + 1)[: len(STEADY)]
        return Measured(source=0, values=level * STEADY * np.exp(0.4 * is_disturbed * wander))

    experiment = Experiment(2, measure)
    assert experiment.run(Rules(stands=lambda _: Standing.DECIDED)) is Ended.DECIDED
    assert len(experiment.whole_rows()) < LOOKS[0]
    assert experiment.tally(LOOKS).counting < EARLY_LOOK


def test_the_early_look_is_wrong_next_to_never() -> None:
    """Of equal sides whose processes scatter by 20 %, none of 150 is asked about early."""
    asked = []
    for seed in range(150):
        source = Levels(0.2, 1.0, 1.0)
        source.draw = np.random.default_rng(seed)
        Experiment(2, source).run(
            Rules(looks=(8,), stands=lambda one: asked.append(len(one.whole_rows())))
        )
    assert min(asked) >= LOOKS[0]
