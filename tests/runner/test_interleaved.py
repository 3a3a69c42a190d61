"""Sides measured in turn."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.runner import interleaved
from enginescope.runner.interleaved import Pacing, RoundWatcher, looks_up_to, run_interleaved
from enginescope.stats.comparison import rounds as recorded_rounds
from enginescope.stats.comparison.ratio import LOOKS
from tests.runner.test_isolate import QUICK

replace = msgspec.structs.replace


def job(**options: str) -> Job:
    return Job(
        subject=Subject(name="nothing", kind="synthetic"),
        backend=BackendSpec(name="fake", options=options),
        workload=QUICK,
    )


@pytest.fixture
def played(monkeypatch):
    """Processes that end at once; those named in `failing`, as (side's seed, round), fail."""
    failing: set[tuple[str, int]] = set()
    seen: list[Job] = []

    def at_once(jobs, sink, *, command=None, watcher=None) -> None:
        (one,) = jobs
        watcher.started(0, one)
        side = one.backend.options.get("seed", "")
        number = sum(other.backend == one.backend for other in seen)
        seen.append(one)
        kind = OutcomeKind.UNSUPPORTED if side == "none" else OutcomeKind.CRASHED
        bad = Outcome(kind=kind, message="gone")
        sink(
            Run(
                id=f"{len(seen):012x}",
                created="",
                origin="measured",
                job=one,
                command=command,
                outcome=bad if (side, number) in failing else Outcome(),
            )
        )

    monkeypatch.setattr(interleaved, "run_jobs", at_once)
    return failing, seen


def compare(*jobs: Job, **pacing):
    kept: list[Run] = []
    sides = run_interleaved(jobs, kept.append, Pacing(**pacing), command="enginescope bench")
    return sides, kept


def test_every_side_once_a_round_in_an_order_that_the_seed_draws(played) -> None:
    three = [job(seed=one) for one in "012"]
    sides, kept = compare(*three, seed=5)
    assert [len(one) for one in sides] == [LOOKS[-1]] * 3
    assert len({run.turn.comparison for run in kept}) == 1
    for number, runs in enumerate(zip(*sides, strict=True)):
        assert [run.turn.side for run in runs] == ["A", "B", "C"]
        assert {run.turn.round for run in runs} == {number}
        assert sorted(run.turn.place for run in runs) == [0, 1, 2]
    orders = [tuple(run.turn.side for run in kept[at : at + 3]) for at in range(0, len(kept), 3)]
    assert len(set(orders)) > 3
    again = [run.turn.side for run in compare(*three, seed=5)[1]]
    other = [run.turn.side for run in compare(*three, seed=6)[1]]
    assert [run.turn.side for run in kept] == again
    assert again != other
    assert kept[0].command == "enginescope bench"


def test_it_is_asked_at_the_looks_and_at_no_other_time(played) -> None:
    asked: list[int] = []

    def decided(sides) -> bool:
        asked.append(len(sides[0]))
        return len(sides[0]) == LOOKS[1]

    sides, _ = compare(job(seed="0"), job(seed="1"), decided=decided)
    assert asked == list(LOOKS[:2])
    assert len(sides[1]) == LOOKS[1]


def test_inconclusive_it_ends_with_the_last_look(played) -> None:
    asked: list[int] = []
    sides, _ = compare(
        job(seed="0"), job(seed="1"), decided=lambda now: asked.append(len(now[0])) or False
    )
    assert asked == list(LOOKS[:-1])
    assert len(sides[0]) == LOOKS[-1]


def test_what_can_tell_nothing_ends_after_a_round(played) -> None:
    failing, _ = played
    failing.add(("0", 0))
    sides, _ = compare(job(seed="0"), job(seed="1"), is_vain=lambda now: len(now) == 2)
    assert len(sides[0]) == 2


def test_a_failed_process_is_kept_and_its_round_made_up_for(played) -> None:
    failing, _ = played
    failing |= {("1", 3), ("0", LOOKS[-1])}
    asked: list[int] = []
    sides, kept = compare(
        job(seed="0"), job(seed="1"), decided=lambda now: asked.append(len(now[0])) or True
    )
    assert asked == [LOOKS[0] + 1]
    assert len(kept) == 2 * (LOOKS[0] + 1)
    assert sides[1][3].outcome.kind is OutcomeKind.CRASHED


def test_a_side_that_goes_on_failing_ends_it(played) -> None:
    failing, _ = played
    failing |= {("1", one) for one in range(20)}
    sides, kept = compare(job(seed="0"), job(seed="1"))
    assert len(sides[0]) == interleaved.GIVE_UP_AFTER
    assert len(kept) == 2 * interleaved.GIVE_UP_AFTER


def test_a_side_that_is_not_supported_is_not_tried_again(played) -> None:
    failing, _ = played
    failing.add(("none", 0))
    sides, kept = compare(job(seed="0"), job(seed="none"))
    assert [len(one) for one in sides] == [1, 1]
    assert len(kept) == 2


def test_rounds_that_fail_now_and_then_do_not_go_on_for_ever(played) -> None:
    failing, _ = played
    failing |= {("1", one) for one in range(0, 100, 2)}
    sides, _ = compare(job(seed="0"), job(seed="1"))
    assert len(sides[0]) == LOOKS[-1]


@pytest.fixture
def disturbed(played, monkeypatch):
    """Rounds in which a process is disturbed: of A in one, of B in the next."""
    rounds: set[int] = set()

    def uncertainty_pct(run: Run) -> float:
        side = "AB"[sorted(rounds).index(run.turn.round) % 2] if run.turn.round in rounds else ""
        return 40.0 if run.turn.side == side else 0.5

    monkeypatch.setattr(recorded_rounds, "uncertainty_of", uncertainty_pct)
    return rounds


def test_a_disturbed_round_is_made_up_for(disturbed) -> None:
    disturbed |= {0, 4, 9}
    asked: list[int] = []
    compare(job(seed="0"), job(seed="1"), decided=lambda now: asked.append(len(now[0])) or False)
    assert asked == [one + 3 for one in LOOKS[:-1]]


@pytest.mark.parametrize("failing_too", [False, True])
def test_mostly_disturbed_it_ends_with_the_maximum_of_rounds(
    played, disturbed, failing_too
) -> None:
    """`--rounds 60`, a maximum, measured 76."""
    disturbed |= {one for one in range(1_000) if one % 5 >= 2}
    if failing_too:
        played[0].update(("1", one) for one in range(0, 1_000, 5))
    sides, _ = compare(job(seed="0"), job(seed="1"))
    assert len(sides[0]) == LOOKS[-1]


@pytest.mark.parametrize("every", [1, 2])
def test_a_side_that_is_unstable_by_itself_takes_no_more_rounds(
    played, monkeypatch, every: int
) -> None:
    def uncertainty_pct(run: Run) -> float:
        return 40.0 if run.turn.round % every == 0 and run.turn.side == "B" else 0.5

    monkeypatch.setattr(recorded_rounds, "uncertainty_of", uncertainty_pct)
    sides, _ = compare(job(seed="0"), job(seed="1"))
    assert len(sides[0]) == LOOKS[-1]


def test_layers_and_builds_are_of_the_first_round(played) -> None:
    _, seen = played
    compare(*(replace(job(seed=one), rebuild=True) for one in "01"))
    assert [one.layer_profile for one in seen[:2]] == [True, True]
    assert [one.rebuild for one in seen[:2]] == [True, True]
    assert not any(one.layer_profile or one.rebuild for one in seen[2:])


@pytest.mark.parametrize("count", [0, 1, 27])
def test_sides_have_letters(count, played) -> None:
    with pytest.raises(UsageError, match=f"{count} side"):
        compare(*(job(seed=str(one)) for one in range(count)))


def test_looks_of_the_usual_number_are_the_usual_ones() -> None:
    assert looks_up_to(LOOKS[-1]) == LOOKS


@given(st.integers(1, 1_000))
def test_looks_are_four_at_most_and_none_before_there_can_be_an_interval(rounds) -> None:
    looks = looks_up_to(rounds)
    assert 1 <= len(looks) <= len(LOOKS)
    assert looks[0] >= LOOKS[0]
    assert looks[-1] == max(rounds, LOOKS[0])


def test_real_processes() -> None:
    told = []
    watcher = RoundWatcher(started=lambda turn, one: told.append((turn.side, one.backend.name)))
    kept: list[Run] = []
    pacing = Pacing(looks=(2,), seed=1)
    jobs = (job(latency_us="100"), job(latency_us="300"))
    a, b = run_interleaved(jobs, kept.append, pacing, watcher=watcher)
    assert len(a) == 2
    assert sorted(told) == [("A", "fake")] * len(a) + [("B", "fake")] * len(b)
    assert [run.id for run in kept] != []
    assert all(one.headline is not None for one in (*a, *b))
    assert a[0].profile is not None
    assert a[1].profile is None


@pytest.mark.parametrize("sides", [2, 3, 5])
def test_every_side_has_every_place_equally_often(played, sides) -> None:
    _, kept = compare(*(job(seed=str(one)) for one in range(sides)), seed=3, looks=(30,))
    places = Counter((run.turn.side, run.turn.place) for run in kept)
    assert len(places) == sides**2
    assert set(places.values()) == {30 // sides}


def test_the_first_side_of_a_block_is_random(played) -> None:
    _, kept = compare(job(seed="0"), job(seed="1"), seed=3)
    first = [run.turn.side for run in kept[::4]]  # of blocks of two rounds
    assert set(first) == {"A", "B"}
    rounds = [tuple(run.turn.side for run in kept[at : at + 4]) for at in range(0, len(kept), 4)]
    assert set(rounds) == {("A", "B", "B", "A"), ("B", "A", "A", "B")}
