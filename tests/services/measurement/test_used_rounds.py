import pytest

from enginescope.records.run import rounds as recorded
from enginescope.services.measurement.rounds import used_rounds
from tests.analysis.in_turn import in_turn


@pytest.fixture
def disturbed(monkeypatch):
    """A function that plants which processes were disturbed: pairs of round and side."""

    def plant(*places: tuple[int, str]) -> None:
        def uncertainty(run) -> float:
            return 50.0 if (run.turn.round, run.turn.side) in places else 0.5

        monkeypatch.setattr(recorded, "uncertainty_of", uncertainty)

    return plant


def test_disturbed_rounds_do_not_count(disturbed) -> None:
    disturbed((0, "A"), (2, "B"))
    rows, notices = used_rounds(in_turn(1.0, rounds=6))
    assert [row[0].turn.round for row in rows] == [1, 3, 4, 5]
    assert notices == ()
    disturbed((0, "A"), (2, "B"))
    rows, (notice,) = used_rounds(in_turn(1.0, rounds=4))
    assert (len(rows), notice.code) == (4, "W-DISTURBED-ROUNDS")
    assert notice.message.startswith("2 of 4 rounds were disturbed")
    assert notice.evidence["unstable"] is True
    # All were used without a word: of two sides in turn, one was disturbed in each round.
    disturbed(*((number, "AB"[number % 2]) for number in range(8)))
    rows, (notice,) = used_rounds(in_turn(1.0, rounds=8))
    assert len(rows) == 8
    assert notice.message.startswith("8 of 8 rounds were disturbed")
    disturbed(*((number, "B") for number in range(12)))
    rows, notices = used_rounds(in_turn(1.0, rounds=12))
    assert len(rows) == 12
    assert notices == ()
