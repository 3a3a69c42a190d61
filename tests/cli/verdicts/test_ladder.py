"""``enginescope ladder`` on ONNX Runtime, workers in this process."""

from __future__ import annotations

import json

import pytest

from tests.fakes import models
from tests.plants.in_process import without_warm_up, workers_in_process


@pytest.fixture
def model(tmp_path):
    return models.perceptron(tmp_path / "p.onnx")


SHORT = ("--rounds", "3", "--iterations", "20")


def test_the_answer_the_waterfall_and_a_page(verb, model, tmp_path) -> None:
    page = tmp_path / "ladder.html"
    with workers_in_process(), without_warm_up():
        code, out, err = verb("ladder", model, *SHORT, "--mine", "500ms", "--html", page)
    assert code == 0
    assert "500ms " in out.splitlines()[0]
    assert "  meaning " in out
    assert "► yours" in out
    assert "call with NumPy arrays" in out
    assert "runs list" in err
    assert "► yours" not in page.read_text()
    assert "500ms" in page.read_text()


def test_json(verb, model) -> None:
    with workers_in_process(), without_warm_up():
        code, out, _ = verb("ladder", model, *SHORT, "--json")
    report = json.loads(out)["report"]
    assert code == 0
    assert [rung["key"] for rung in report["rungs"]][:4] == ["layers", "bound", "python", "arrays"]
    assert all(rung["value_ms"] > 0 for rung in report["rungs"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--mine", "fast"), "'fast' is not a duration"),
        (("--mine", "0ms"), "--mine 0ms"),
        (("--on", "fake"), "fake has no ladder"),
        (("--rounds", "2"), "--rounds"),
    ],
)
def test_mistakes_are_named(verb, model, arguments, words) -> None:
    code, out, err = verb("ladder", model, *arguments)
    assert code == 2
    assert out == ""
    assert words in err
