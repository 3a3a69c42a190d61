import json

import pytest

from enginescope import judge
from enginescope.judge.errors import UsageError
from enginescope.judge.experiment import Measured, Standing
from enginescope.judge.referee import ERROR, Ruling, _Trial, error_of
from tests.judge.simulated import Drawn


def test_the_errors_of_all_proposals_add_up_to_less_than_the_sessions() -> None:
    assert ERROR * 0.99 < sum(error_of(number, 100) for number in range(5_000)) <= ERROR
    assert error_of(0, 100) == error_of(99, 100) == 2 * error_of(100, 100)
    with pytest.raises(UsageError, match="proposals: 0"):
        judge.Session(Drawn("first", 5.0, 1), proposals=0)


def test_what_becomes_the_champion_and_what_costs_error() -> None:
    session = judge.Session(Drawn("first", 5.0, 1))
    faster = Drawn("faster", 4.5, 2)
    judged = session.propose(faster)
    assert judged.ruling is Ruling.ACCEPTED
    assert session.champion is faster
    assert judged.answer.pairs[0].sentence.startswith("B is faster")
    champion = Drawn("first", 5.0, 1)
    session = judge.Session(champion)
    judged = session.propose(Drawn("slower", 5.5, 2))
    assert judged.ruling is Ruling.NOT_FASTER
    assert judged.answer.measured_rounds == 8
    assert session.champion is champion
    session = judge.Session(Drawn("first", 5.0, 1, sd=0.001), threshold_pct=5.0)
    assert session.propose(Drawn("a little", 4.9, 2, sd=0.001)).ruling is Ruling.NOT_FASTER
    session = judge.Session(
        Drawn("first", 5.0, 1), check=lambda side: "sums differ" if side.name == "wrong" else None
    )
    wrong = Drawn("wrong", 1.0, 2)
    judged = session.propose(wrong)
    assert (judged.ruling, judged.why, wrong.measured) == (Ruling.WRONG, "sums differ", 0)
    assert session.propose(Drawn("right", 4.0, 3)).error == judged.error


class Interrupted(Drawn):
    """Interrupts its tenth measurement, as Ctrl-C does."""

    def measure(self, round_number: int, seconds: float) -> Measured[dict]:
        if self.measured == 9:
            raise KeyboardInterrupt
        return super().measure(round_number, seconds)


def test_an_interrupt_ends_the_search_and_accepts_nothing(monkeypatch, tmp_path) -> None:
    """It was taken for a ruling, at a look that was not planned, and the search went on."""
    monkeypatch.setattr(_Trial, "_stands", lambda _self, _experiment: Standing.GO_ON)
    file = tmp_path / "session.jsonl"
    session = judge.Session(Drawn("first", 5.0, 1), keep=file)
    with pytest.raises(KeyboardInterrupt):
        session.propose(Interrupted("faster", 4.5, 2))
    assert session.champion_name == "first"
    assert json.loads(file.read_text().splitlines()[-1])["ruling"] == "inconclusive"


def test_a_session_goes_on_from_its_file(tmp_path) -> None:
    kept = tmp_path / "search.jsonl"
    session = judge.Session(Drawn("first", 5.0, 1), proposals=2, keep=kept)
    session.propose(Drawn("slower", 6.0, 2))
    session.propose(Drawn("faster", 4.0, 3))
    with pytest.raises(UsageError, match="faster was accepted last"):
        judge.Session(Drawn("first", 5.0, 1), proposals=2, keep=kept)
    again = judge.Session(Drawn("faster", 4.0, 3), proposals=2, keep=kept)
    assert again.propose(Drawn("third", 5.0, 4)).error == error_of(2, 2)
    rulings = [json.loads(line).get("ruling") for line in kept.read_text().splitlines()]
    assert rulings == [None, "not faster", "accepted", "not faster"]


def test_sessions_of_no_gain_hardly_ever_accept_any() -> None:
    """A slice of ``benchmarks/statistics/referee.py``."""
    accepted = 0
    for seed in range(3):
        session = judge.Session(Drawn("champion", 5.0, 1_000 * seed))
        accepted += any(
            session.propose(Drawn(f"{number}", 5.0, 1_000 * seed + number)).is_accepted
            for number in range(1, 20)
        )
    assert accepted == 0
