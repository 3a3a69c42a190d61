"""Verbs that are interrupted in the middle: the answer so far, the exit code, and how to go on."""

import json
from pathlib import Path
from typing import Any

import pytest

from enginescope.judge.experiment import Measured, Position
from enginescope.records.progress import COMPARISON_TAG
from enginescope.services.measurement.rounds import JobRounds
from enginescope.store.archive import Store
from tests.fakes import models
from tests.plants.in_process import workers_in_process
from tests.services.test_sensitivity import chain

TIMED = ("--iterations", "24")
ONE_THREAD = "ort-cpu?intra_op_num_threads=1"
#: Verb -> its arguments after the model, and the round that is interrupted.
VERBS: dict[str, tuple[tuple[object, ...], int]] = {
    "contend": (("MODEL", "--rounds", 4, "--duration", "100ms"), 2),
    "ladder": (("--rounds", 4, *TIMED), 2),
    "shapes": (("--rounds", 5, "--visits", 2, "--requests", 4, "--batch", "1:2"), 3),
    "tune": (("--option", "intra_op_num_threads=1", "--samples", 1, "--rounds", 8, *TIMED), 2),
    "sensitivity": (("--rounds", 4, "--samples", 1, *TIMED), 3),
    "lottery": (("--builds", 3, "--processes", 4, *TIMED), 3),
    "doctor": (("--noise", "--rounds", 8, "--duration", "10ms"), 4),
    "load": (("--rate", 200, "--queries", 10, "--repeats", 3), 2),
    "bench": (("--on", "ort-cpu", "--on", ONE_THREAD, "--compare", *TIMED), 5),
}


class Interrupt:
    """Raises in a round, before its last process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.round: int | None = None
        self.raised: BaseException = KeyboardInterrupt()
        measure = JobRounds._measure

        def measured(rounds: JobRounds, position: Position) -> Measured[Any]:
            if position.round == self.round:
                raise self.raised
            return measure(rounds, position)

        monkeypatch.setattr(JobRounds, "_measure", measured)


@pytest.fixture
def interrupt(monkeypatch) -> Interrupt:
    return Interrupt(monkeypatch)


@pytest.fixture
def model(tmp_path) -> Path:
    return models.perceptron(tmp_path / "p.onnx")


def arguments(name: str, model: Path) -> list[object]:
    return [name, model, *(model if one == "MODEL" else one for one in VERBS[name][0])]


@pytest.mark.parametrize("name", VERBS)
def test_the_answer_so_far_and_how_to_go_on(name, verb, model, interrupt, tmp_path) -> None:
    asked = arguments(name, model)
    interrupt.round = VERBS[name][1]
    with workers_in_process():
        code, out, err = verb(*asked)
        assert code == 130, err
        assert "interrupted" in err
        if name != "doctor":  # too few rounds have no floor
            assert out.strip(), err
        assert "--continue" in err
        before = len(Store(tmp_path / "store").rows())
        interrupt.round = None
        code, out, err = verb(*asked, "--continue", *(["--rounds", 8] if name == "bench" else []))
    if name != "doctor":  # too few of its rounds may count
        assert code == 0, err
        assert out.strip()
    rows = Store(tmp_path / "store").rows()
    assert len(rows) > before
    if name in ("contend", "ladder", "shapes", "doctor", "bench", "load", "lottery"):
        tags = {tag for row in rows for tag in row.tags if tag.startswith(COMPARISON_TAG)}
        assert len(tags) == 1


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_the_report_says_that_it_was_interrupted(verb, model, interrupt, raised, code) -> None:
    interrupt.round, interrupt.raised = VERBS["contend"][1], raised
    with workers_in_process():
        ended, out, err = verb(*arguments("contend", model), "--json")
        assert ended == code, err
        notices = {one["code"]: one for one in json.loads(out)["report"]["notices"]}
        assert notices["W-INTERRUPTED"]["message"].startswith("interrupted after 2 of 4 rounds")
        interrupt.round, interrupt.raised = 0, KeyboardInterrupt()
        ended, out, err = verb(*arguments("contend", model))
    assert (ended, out) == (130, "")  # without a whole round there is no answer
    said, _, command = err.partition("; to continue: ")
    assert said.count("interrupted") == 1
    assert said.endswith("0 runs are stored")
    assert command.startswith("enginescope")


def test_another_model_is_not_continued_and_the_maximum_time_ends(verb, model, interrupt) -> None:
    shapes = arguments("shapes", model)
    with workers_in_process():
        code, out, _ = verb(*shapes, "--max-time", "1ms", "--json")
        assert code == 0
        notices = {one["code"]: one["message"] for one in json.loads(out)["report"]["notices"]}
        assert notices["I-SHORT-SEARCH"] == "the maximum time was over after 1 of 5 rounds"
        interrupt.round = VERBS["shapes"][1]
        verb(*shapes)
        model.write_bytes(model.read_bytes() + b"\x82\x01\x00")
        code, _, err = verb(*shapes, "--continue")
    assert code == 2
    assert "cannot be continued" in err
    assert "has changed" in err


def test_int8_models_of_an_interrupted_search_are_continued(verb, tmp_path, monkeypatch) -> None:
    model = chain(tmp_path / "net.onnx")
    options = ("--to", "int8", "--rounds", 3, "--samples", 2, *TIMED, "--json")
    timings: list[JobRounds] = []
    measure = JobRounds._measure

    def interrupted(rounds: JobRounds, position: Position) -> Measured[Any]:
        timings.extend([rounds] if rounds not in timings else [])
        if len(timings) == 2 and position.round == 2:  # all layers are timed alone
            raise KeyboardInterrupt
        return measure(rounds, position)

    monkeypatch.setattr(JobRounds, "_measure", interrupted)
    with workers_in_process():
        code, out, err = verb("sensitivity", model, *options)
        assert code == 130, err
        before = json.loads(out)["report"]["comparisons"]
        (folder,) = (tmp_path / "store" / "sensitivity").iterdir()
        assert len(list(folder.glob("*.json"))) == 5  # each of three layers, the first two, all
        code, out, err = verb("sensitivity", model, *options, "--continue")
    assert code == 0, err
    report = json.loads(out)["report"]
    assert report["comparisons"] == before
    assert len(set(before)) == 2
    assert report["rounds"] == 3
    assert not folder.exists()
