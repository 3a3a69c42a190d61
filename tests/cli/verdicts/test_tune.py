"""``enginescope tune`` on ONNX Runtime, in processes of its own and in this one."""

from __future__ import annotations

import json

import pytest

from enginescope.cli.main import main
from tests.fakes import models
from tests.plants.in_process import without_warm_up, workers_in_process

SHORT = ("--iterations", "5", "--samples", "1", "--max-time", "1s")
THREADS = ("--option", "intra_op_num_threads=1,2")


@pytest.fixture
def model(tmp_path):
    """A small model."""
    return models.perceptron(tmp_path / "net.onnx")


def test_processes_answer_on_one_screen(verb, model, tmp_path) -> None:
    page, table, text = (tmp_path / f"tune.{suffix}" for suffix in ("html", "csv", "md"))
    files = ("--html", page, "--csv", table, "--markdown", text)
    code, out, err = verb("tune", model, "--option", "intra_op_num_threads=1", *SHORT, *files)
    assert code == 0, err
    assert "no winner for net.onnx" in out.splitlines()[0]
    assert "open: " in err
    assert "cmp-" in err
    assert "No winner for net.onnx" in page.read_text(encoding="utf-8")
    assert "### enginescope: no winner" in text.read_text(encoding="utf-8")
    assert table.read_text(encoding="utf-8-sig").startswith("backend,batch,state")


def test_options_repeat_and_combine(verb, model) -> None:
    more = ("--option", "intra_op_num_threads=2", "--option", "enable_cpu_mem_arena=0")
    with workers_in_process(), without_warm_up():
        code, out, err = verb(
            *("tune", model, "--option", "intra_op_num_threads=1", *more, "--batch", "1,2"),
            *SHORT,
            "--json",
        )
    assert code == 0, err
    report = json.loads(out)["report"]
    assert len(report["alternatives"]) == 1 + 2 * 2
    assert {one["batch"] for one in report["alternatives"]} == {1, 2}
    assert "enable_cpu_mem_arena=0" in report["alternatives"][1]["backend"]


def test_an_interrupt_says_what_stands(model, tmp_path, capfd, monkeypatch) -> None:
    def interrupted(request, observer):
        observer.stands("after 3 rounds: 2 alternatives left; x leads, not confirmed")
        raise KeyboardInterrupt

    monkeypatch.setattr("enginescope.cli.verdicts.tune.tune_options", interrupted)
    code = main(["tune", str(model), *THREADS, "--store", str(tmp_path / "store")])
    assert code == 130
    assert "x leads, not confirmed; 0 runs are stored" in " ".join(capfd.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no alternative to the default"),
        (("--option", "intra_op_num_threads"), "is not NAME=V1,V2"),
        (("--option", "intra_op_num_threads=1,"), "is not NAME=V1,V2"),
        (("--batch", "1,x"), "is not a list of sizes"),
        (("--on", "ort-cpu?intra_op_num_threads=1", *THREADS), "--option intra_op_num_threads"),
        (("--option", "intra_op_num_threads=many"), "intra_op_num_threads=many"),
    ],
)
def test_what_cannot_be_tuned(verb, model, arguments, message) -> None:
    code, out, err = verb("tune", model, *arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
