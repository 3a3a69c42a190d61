"""``enginescope contend`` on the fake backend, workers in this process."""

from __future__ import annotations

import json

import pytest

from tests.plants.in_process import without_warm_up, workers_in_process


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    path.touch()
    return path


SHORT = ("--rounds", "3", "--duration", "100ms", "--on", "fake?latency_us=2000")


def test_the_answer_the_matrix_and_files(verb, model, tmp_path) -> None:
    page, text = tmp_path / "contend.html", tmp_path / "contend.md"
    table = tmp_path / "contend.csv"
    files = ("--html", page, "--markdown", text, "--csv", table)
    with workers_in_process(), without_warm_up():
        code, out, err = verb("contend", model, model, *SHORT, *files)
    assert code == 0
    answer = out.splitlines()[0].removeprefix("unstable measurement: ")
    assert answer.startswith(("sharing slows ", "inconclusive: A ", "no contender is slowed"))
    assert "Slowed" in out
    assert "beside A" in out
    assert "A beside B" in out
    assert "runs list" in err
    assert "beside A" in page.read_text()
    assert table.read_text().count("\n") == 3
    assert text.read_text().startswith("### enginescope: ")


def test_streams_of_one_process(verb, model) -> None:
    with workers_in_process(), without_warm_up():
        code, out, _ = verb("contend", model, model, *SHORT, "--share", "streams", "--json")
    assert code == 0
    document = json.loads(out)
    assert document["report"]["share"] == "streams"
    assert document["verdict"] == document["report"]["kind"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--rounds", "2"), "--rounds"),
        (("--share", "mps"), "--share"),
        (("--on", "fake", "--on", "fake", "--on", "fake"), "3 backends for 2 models"),
        (("--on", "nobody"), "nobody"),
    ],
)
def test_mistakes_are_named(verb, model, arguments, words) -> None:
    code, out, err = verb("contend", model, model, *arguments)
    assert code == 2
    assert out == ""
    assert words in err


def test_one_model_has_nobody_to_contend_with(verb, model) -> None:
    code, _, err = verb("contend", model)
    assert code == 2
    assert "name a model twice" in err
