"""``enginescope shapes`` on ONNX Runtime, workers in this process."""

from __future__ import annotations

import json

import pytest

from tests.fakes import models
from tests.plants.in_process import workers_in_process


@pytest.fixture
def model(tmp_path):
    return models.perceptron(tmp_path / "p.onnx")


SHORT = ("--rounds", 3, "--visits", 2, "--requests", 4, "--batch", "1:3")


def test_the_answer_the_tables_and_the_files(verb, model, tmp_path) -> None:
    page, text, rows = (tmp_path / f"shapes.{end}" for end in ("html", "md", "csv"))
    with workers_in_process():
        code, out, err = verb(
            *("shapes", model, *SHORT, "--html", page, "--markdown", text, "--csv", rows)
        )
    assert code == 0
    assert "  build for  min 1, opt " in out
    assert "first request of a new shape" in out
    assert f"build: enginescope build {model} --min-shape x:1x4" in err
    assert "<h1>" in page.read_text()
    assert text.read_text().startswith("### enginescope: ")
    assert len(rows.read_text().splitlines()) == 4


def test_json_weights_and_profiles(verb, model) -> None:
    more = ("--weight", "1=3", "--weight", "3=1", "--profiles", 2, "--gain", 1)
    with workers_in_process():
        code, out, _ = verb("shapes", model, *SHORT, *more, "--json")
    report = json.loads(out)["report"]
    assert code == 0
    assert [level["weight"] for level in report["levels"]] == [0.75, 0, 0.25]
    assert [profile["opt"] for profile in report["profiles"]] == ["1", "3"]
    assert report["knee"]["gain_pct"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--batch", "4"), "a sweep has 2 to 64"),
        (("--batch", "4", "--sweep", "n=1,2"), "--batch and --sweep"),
        (("--batch", "fast"), "'fast' is not a list of sizes"),
        (("--sweep", "seq"), "'seq' is not NAME=SIZES"),
        (("--weight", "7=1"), "weight of shape 7"),
        (("--sweep", "seq=1,2"), "dimension seq=1"),
        (("--graph", "off"), "ort-cpu has no --graph"),
        (("--on", "fake"), "fake cannot change shapes"),
    ],
)
def test_mistakes_are_named(verb, model, arguments, words) -> None:
    code, out, err = verb("shapes", model, *arguments)
    assert code == 2
    assert out == ""
    assert words in err
