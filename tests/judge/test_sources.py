import json
import sys
import time

import pytest

from enginescope import judge
from enginescope.judge.errors import UsageError
from enginescope.judge.sources import Command, Function, Program, source_of


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_function_gives_times_in_ms_or_fails_its_side() -> None:
    measured = source_of(lambda: time.sleep(0.002), 0).measure(0, 0.05)
    assert measured.failure is None
    assert 2.0 <= float(min(measured.values)) < 50.0
    assert measured.source == {"calls_per_sample": 1}
    measured = Function(lambda: None, "nothing").measure(0, 0.05)
    assert min(measured.source["calls_per_sample"], len(measured.values)) > 1
    assert float(min(measured.values)) < 0.02

    def broken() -> None:
        raise ValueError("no input")

    measured = Function(broken, "broken").measure(0, 0.05)
    assert measured.values is None
    assert measured.is_final
    assert measured.failure == "ValueError: no input"


def test_a_command_is_timed_as_a_whole_process_and_a_program_by_its_protocol() -> None:
    measured = judge.command(python("import time; time.sleep(0.05)")).measure(0, 0.01)
    assert len(measured.values) == 1
    assert float(measured.values[0]) > 50.0
    measured = judge.command(python("raise SystemExit('no model')")).measure(0, 0.01)
    assert measured.failure == "exit status 1: no model"
    measured = judge.program(python(TALKING)).measure(4, 0.1)
    assert measured.values.tolist() == pytest.approx([5.5e-3] * 3)
    assert measured.source == {"name": "mine", "device": "x"}
    for kind in (Program, Command):
        hung = kind(tuple(python("import time; time.sleep(60)")), "hung", 0.3)
        assert "longer than 0.3 s" in hung.measure(0, 0.1).failure


@pytest.mark.parametrize("make", [judge.command, judge.program])
def test_what_is_not_a_program_will_not_be_tried_again(make) -> None:
    measured = make("./no-such-program").measure(0, 0.01)
    assert measured.is_final
    assert measured.failure == "./no-such-program is not a program on this machine"


TALKING = """
import json, sys
print("loading ...")
print(json.dumps({"type": "hello", "name": "mine", "device": "x"}))
wanted = json.loads(sys.stdin.readline())
print(json.dumps({"type": "samples", "values": [wanted["round"] + 1.5] * 3,
                  "unit": {"measure": "us"}[wanted["type"]]}))
"""


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        ({"type": "error", "message": "out of memory"}, "out of memory"),
        *(
            ({"type": "samples", "values": values}, "not a list of times")
            for values in ([], [1.0, -2.0], [1.0, None], [[1.0]])
        ),
        ({"type": "samples", "values": [1.0], "unit": "weeks"}, "not a list of times"),
        ({"type": "done"}, "no samples message"),
        ([1, 2], "no samples message"),
    ],
)
def test_what_a_program_says_wrong_is_its_failure(message: object, failure: str) -> None:
    line = json.dumps(message)
    measured = judge.program(python(f"print({line!r})")).measure(0, 0.1)
    assert measured.values is None
    assert failure in measured.failure


def test_a_function_in_a_fresh_process(tmp_path, monkeypatch) -> None:
    (tmp_path / "mine.py").write_text("import os\ndef own(): return os.getpid()\nVALUE = 3\n")
    monkeypatch.chdir(tmp_path)
    measured = judge.fresh("mine:own").measure(0, 0.05)
    assert (measured.failure, measured.source) == (None, {"name": "mine:own", "unit": "ms"})
    assert len(measured.values) > 10
    assert judge.fresh("mine:gone").measure(0, 0.05).failure.startswith("mine:gone: ")
    assert judge.fresh("gone:own").measure(0, 0.05).failure.startswith("gone:own: ")
    assert judge.fresh("mine:VALUE").measure(0, 0.05).failure == "mine:VALUE is not callable"


def test_recorded_rounds_end_and_an_empty_command_is_refused() -> None:
    recorded = judge.Recorded(((1.0, 2.0),), "old")
    assert recorded.measure(0, 1.0).values.tolist() == [1.0, 2.0]
    assert recorded.measure(1, 1.0).failure == "only 1 rounds are recorded"
    assert [judge.command("a  b").name, judge.program(["a", "b c"]).name] == ["a  b", "a 'b c'"]
    with pytest.raises(UsageError, match="empty command"):
        judge.command("  ")
    for side, message in ((3, "3 is not a side"), ("./a", "'./a' is not a side")):
        with pytest.raises(UsageError, match=message):
            source_of(side, 0)
    for name in ("mine", "mine:", ":own"):
        with pytest.raises(UsageError, match="not a function"):
            judge.fresh(name)
