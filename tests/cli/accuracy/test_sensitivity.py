"""``enginescope sensitivity`` on ONNX Runtime, in processes of its own and in this one."""

from __future__ import annotations

import json
import re

import pytest

from tests.fakes import models
from tests.plants.in_process import without_warm_up, workers_in_process

SHORT = ("--iterations", "5", "--samples", "1", "--rounds", "3")


@pytest.fixture
def model(tmp_path):
    """One layer."""
    return models.perceptron(tmp_path / "net.onnx")


def test_the_answer_and_its_files(verb, model, tmp_path) -> None:
    page, table, text = (tmp_path / f"layers.{suffix}" for suffix in ("html", "csv", "md"))
    files = ("--html", page, "--csv", table, "--markdown", text)
    with workers_in_process(), without_warm_up():
        code, out, err = verb("sensitivity", model, *SHORT, *files)
    assert code == 0, err
    assert "every layer of net.onnx is harmless in fp16" in out.splitlines()[0]
    assert "use        --on ort-cpu:fp16" in out
    assert "open: " in err
    assert "cmp-" in err
    assert re.search(r"layers, round 2 of 3, at most \S+ s left", err)
    assert "Every layer of net.onnx" in page.read_text(encoding="utf-8")
    assert "### enginescope: every layer" in text.read_text(encoding="utf-8")
    assert table.read_text(encoding="utf-8-sig").startswith("kind,name,converted")


def test_json_of_processes(verb, model) -> None:
    code, out, err = verb(
        *("sensitivity", model, "--to", "int8", "--by", "block", *SHORT, "--max-time", "1ms"),
        *("--max-error", "0.5", "--json"),
    )
    assert code == 0, err
    report = json.loads(out)["report"]
    assert (report["to"], report["by"], report["max_error"]) == ("int8", "block", 0.5)
    assert report["layers"][0]["alone"]["state"] == "unreached"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--on", "ort-cpu:fp16"), "--on ort-cpu:fp16"),
        (("--to", "fp4"), "fp4"),
        (("--max-error", "0"), "--max-error"),
    ],
)
def test_what_cannot_be_measured(verb, model, arguments, message) -> None:
    code, out, err = verb("sensitivity", model, *arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
