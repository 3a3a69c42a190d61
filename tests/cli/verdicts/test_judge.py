"""``enginescope judge``: what an interrupt leaves, and how to continue."""

import json
import os
import signal
import sys

import pytest

from enginescope.cli.main import main
from enginescope.cli.verdicts import judge
from tests.judge.draws import Drawn


@pytest.fixture
def drawn(monkeypatch):
    """Sides of any name, as far apart as needs many rounds; the one called new is ended."""

    class Ending(Drawn):
        """Gets a signal at its n-th measurement, from 0."""

        at = 9
        number = signal.SIGINT

        def measure(self, round_number: int, seconds: float):
            if self.measured == self.at:
                os.kill(os.getpid(), self.number)
            return super().measure(round_number, seconds)

    kinds = {"new": lambda: Ending("new", 5.1, 3, 0.2), "old": lambda: Drawn("old", 5.0, 2, 0.2)}
    monkeypatch.setattr(sys, "argv", ["enginescope", "judge", "old", "new"])
    monkeypatch.setattr(judge, "_KINDS", {"command": lambda side: kinds[side]()})
    return Ending


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_the_answer_so_far(drawn, tmp_path, capsys, number, code) -> None:
    drawn.number = number
    kept = str(tmp_path / "kept.jsonl")
    assert main(["judge", "old", "new", "--keep", kept]) == code
    shown = capsys.readouterr()
    assert "9 rounds; evidence: " in shown.out
    assert "next: the same call goes on where it ended" in shown.out
    assert "interrupted after 9 rounds; to continue: enginescope judge old new" in shown.err
    drawn.at = -1
    assert main(["judge", "old", "new", "--keep", kept, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured_rounds"] > 9


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_before_the_first_round_it_says_so(drawn, capsys, number, code) -> None:
    """It ended without a word."""
    drawn.number, drawn.at = number, 0
    with pytest.raises(SystemExit) as ended:
        sys.exit(main(["judge", "old", "new"]))
    assert ended.value.code == code
    shown = capsys.readouterr()
    assert not shown.out
    assert "interrupted; no round is complete; --keep FILE would have stored it" in shown.err


def test_what_is_cut_off_is_neither_called_hopeless_nor_accepted(drawn, tmp_path, capsys) -> None:
    """Five rounds without an interval read "no realistic number of rounds settles it"."""
    drawn.at = 5
    assert main(["judge", "old", "new"]) == 130
    assert "next: measure until the last round" in capsys.readouterr().out
    drawn.at, session = 9, tmp_path / "session.jsonl"
    assert main(["judge", "old", "new", "--session", str(session)]) == 130
    assert "the proposal is inconclusive; to judge it again: " in capsys.readouterr().err
    (row,) = [json.loads(line) for line in session.read_text().splitlines() if "ruling" in line]
    assert row["ruling"] == "inconclusive"
