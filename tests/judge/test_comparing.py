import json
import math

import pytest

from enginescope import judge
from enginescope.judge.errors import UsageError
from enginescope.judge.experiment import Ended, Measured, Standing
from enginescope.judge.referee import ERROR, Ruling, _Trial, error_of
from enginescope.judge.units import format_ms
from enginescope.judge.verdict import EvidenceLevel, Reason, VerdictKind
from tests.judge.draws import Drawn


def sides(ratio: float, *, sd: float = 0.02, seed: int = 1) -> tuple[Drawn, Drawn]:
    return Drawn("old", 5.0, 2 * seed, sd), Drawn("new", 5.0 * ratio, 2 * seed + 1, sd)


def test_each_verdict_is_said_with_its_interval_and_the_next_step() -> None:
    answer = judge.compare(*sides(0.9))
    assert (answer.verdict.kind, answer.ended) == (VerdictKind.FASTER, Ended.DECIDED)
    assert answer.pairs[0].sentence.startswith("B is faster: 0.")
    assert "(99 % CI 0." in answer.pairs[0].sentence
    assert answer.next_step is None
    answer = judge.compare(*sides(1.0, sd=0.002))
    assert answer.verdict.kind is VerdictKind.SAME
    assert "no difference above 0." in answer.pairs[0].sentence
    answer = judge.compare(*sides(1.012, sd=0.05), rounds=16)
    assert answer.verdict.reason is Reason.INTERVAL_TOO_WIDE
    assert answer.pairs[0].sentence.startswith("inconclusive whether B is faster: ")
    assert "| inconclusive |" in answer.markdown()
    assert answer.next_step in answer.text()
    answer = judge.compare(*sides(1.0, sd=0.5), rounds=45)
    assert (answer.ended, answer.measured_rounds) == (Ended.VAIN, 23)


def test_a_ratio_at_the_threshold_is_measured_on() -> None:
    """Where it stands is no promise: it may well move off the threshold."""
    rounds = [[1.0 + 0.03 * math.sin(3 * at)] for at in range(60)]
    at_edge = [[1.0099 + 0.01 * (at >= 16)] for at in range(60)]
    answer = judge.compare(judge.Recorded(tuple(rounds), "A"), judge.Recorded(tuple(at_edge), "B"))
    assert answer.measured_rounds > 16
    assert answer.verdict.kind is VerdictKind.SLOWER


def test_several_sides_are_compared_with_the_first_measured_or_recorded() -> None:
    answer = judge.compare(*sides(0.9), Drawn("other", 6.0, 9))
    assert [pair.label for pair in answer.pairs] == ["B", "C"]
    assert [pair.verdict.kind for pair in answer.pairs] == [VerdictKind.FASTER, VerdictKind.SLOWER]
    assert len(answer.text().splitlines()[0:2]) == 2
    answer = judge.compare(Drawn("old", 5.0, 1), Failing())
    assert (answer.ended, answer.failures) == (Ended.GIVEN_UP, (None, "no such model"))
    assert "broken failed: no such model" in answer.text()
    assert answer.verdict.kind is VerdictKind.INCONCLUSIVE
    with pytest.raises(UsageError, match="1 sides to compare"):
        judge.compare(Drawn("old", 5.0, 1))
    old = judge.Recorded(tuple((5.0 + 0.01 * number,) for number in range(8)), "old")
    new = judge.Recorded(tuple((4.0 + 0.01 * number,) for number in range(8)), "new")
    assert judge.compare(old, new, rounds=8).verdict.kind is VerdictKind.FASTER


def test_text_markdown_and_json_say_the_same() -> None:
    left_s = []
    answer = judge.compare(*sides(0.9), max_time_s=60.0, watch=lambda _, s: left_s.append(s))
    assert all(rest_s is None or 0 <= rest_s <= 60 for rest_s in left_s)
    sentence = answer.pairs[0].sentence
    assert str(answer).startswith(sentence)
    head = "| side | time | ÷ base | interval | verdict |\n|---|---:|---:|---:|---|\n| A  old | "
    assert answer.markdown().startswith(f"**{sentence}**\n\n{head}")
    assert f"{head}{format_ms(answer.verdict.a)} |  |  |  |\n| B  new | " in answer.markdown()
    data = json.loads(answer.json())
    assert data["pairs"][0]["verdict"]["kind"] == "faster"
    assert " ".join(data) == (
        "schema sides pairs ended evidence rounds measured_rounds repeated failures next_step "
        "conditions table"
    )
    assert (data["ended"], data["evidence"]) == ("decided", "interleaved processes")
    assert " ".join(data["conditions"]) == "machine system processors load python"
    assert len(data["table"]) == 2 * answer.measured_rounds
    row = data["table"][0]
    assert row["values_ms"] == answer.table[0].measured.values.tolist()
    assert row["conditions"]["began"].startswith("20")
    assert all(len(line) <= 80 for line in answer.text().splitlines())


class Failing:
    name, evidence = "broken", EvidenceLevel.INTERLEAVED

    def measure(self, round_number: int, seconds: float) -> Measured[dict]:
        return Measured(source={}, values=None, failure="no such model")


class Interrupting(Drawn):
    """Interrupts its n-th measurement, as Ctrl-C does."""

    at = 9

    def measure(self, round_number: int, seconds: float) -> Measured[dict]:
        if self.measured == self.at:
            raise KeyboardInterrupt
        return super().measure(round_number, seconds)


def test_an_interrupted_comparison_answers_and_goes_on_from_its_file(tmp_path) -> None:
    """A round that was cut off stays in the table, and does not count."""
    options = {"rounds": 16, "threshold_pct": 50.0, "keep": (tmp_path / "kept.jsonl")}
    first = judge.compare(Drawn("old", 5.0, 2, 0.2), Interrupting("new", 6.5, 3, 0.2), **options)
    assert first.ended is Ended.INTERRUPTED
    assert first.next_step == "the same call goes on where it ended"
    assert first.measured_rounds == Interrupting.at
    rest = sides(1.3, sd=0.2)
    answer = judge.compare(*rest, **options)
    assert answer.measured_rounds == 16
    assert rest[0].measured == rest[1].measured == 16 - Interrupting.at
    positions = [entry.position for entry in answer.table]
    assert positions[: len(first.table)] == [entry.position for entry in first.table]


def test_a_torn_line_is_dropped_and_a_file_of_other_sides_refused(tmp_path) -> None:
    kept = tmp_path / "kept.jsonl"
    judge.compare(*sides(0.9), keep=kept)
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join(lines[:6]) + lines[6][:20])
    answer = judge.compare(*sides(0.9, seed=5), keep=kept)
    assert answer.verdict.kind is VerdictKind.FASTER
    assert kept.read_text().startswith("".join(lines[:6]))
    kept = tmp_path / "decided.jsonl"
    first = judge.compare(*sides(0.9), keep=kept)
    again = sides(0.9)
    answer = judge.compare(*again, keep=kept)
    assert [side.measured for side in again] == [0, 0]
    assert answer.verdict == first.verdict
    judge.compare(*sides(0.9), keep=kept)
    with pytest.raises(UsageError, match="another experiment: sides was"):
        judge.compare(Drawn("old", 5.0, 1), Drawn("third", 5.0, 2), keep=kept)


@pytest.mark.parametrize("content", ["[]\n", "not json\n", '{"other": 1}\n'])
def test_a_file_of_something_else_is_refused_and_kept(tmp_path, content: str) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text(content)
    with pytest.raises(UsageError, match=r"kept\.jsonl"):
        judge.compare(*sides(0.9), keep=kept)
    assert kept.read_text() == content


@pytest.mark.parametrize(
    "options", [{"rounds": 7}, {"rounds": 1_001}, {"seconds": 0.0}, {"threshold_pct": -1.0}]
)
def test_values_out_of_range(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        judge.compare(*sides(1.0), **options)


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
    judged = session.propose(Drawn("slower", 5.1, 3))
    assert (judged.ruling, judged.answer.measured_rounds) == (Ruling.NOT_FASTER, 8)
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


def test_an_interrupt_ends_the_search_and_accepts_nothing(monkeypatch, tmp_path) -> None:
    """It was taken for a ruling, at a look that was not planned, and the search went on."""
    monkeypatch.setattr(_Trial, "_stands", lambda _self, _experiment: Standing.GO_ON)
    file = tmp_path / "session.jsonl"
    session = judge.Session(Drawn("first", 5.0, 1), keep=file)
    with pytest.raises(KeyboardInterrupt):
        session.propose(Interrupting("faster", 4.5, 2))
    assert session.champion_name == "first"
    assert json.loads(file.read_text().splitlines()[-1])["ruling"] == "inconclusive"


def test_a_session_goes_on_from_its_file(tmp_path) -> None:
    kept = tmp_path / "search.jsonl"
    session = judge.Session(Drawn("first", 5.0, 1), proposals=2, keep=kept)
    estimate = session.propose(Drawn("slower", 6.0, 2)).answer.verdict.estimate
    assert session.propose(Drawn("faster", 4.0, 3)).error == error_of(1, 2)
    with pytest.raises(UsageError, match="faster was accepted last"):
        judge.Session(Drawn("first", 5.0, 1), proposals=2, keep=kept)
    again = judge.Session(Drawn("faster", 4.0, 3), proposals=2, keep=kept)
    assert again.propose(Drawn("third", 5.0, 4)).error == error_of(2, 2)
    header, *rows = map(json.loads, kept.read_text().splitlines())
    assert " ".join(header) == "enginescope proposals threshold_pct rounds seconds"
    assert [row["ruling"] for row in rows] == ["not faster", "accepted", "not faster"]
    ends = (estimate.interval.low, estimate.interval.high)
    assert tuple(rows[0][key] for key in ("ratio", "low", "high")) == (estimate.ratio, *ends)


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
