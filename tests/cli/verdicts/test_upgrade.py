"""``enginescope upgrade`` with another Python of this machine, and with recorded runs."""

import json
import stat
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from enginescope.cli.main import main
from enginescope.records.run.job import BackendSpec, Job, StopRule, Subject, WarmUp, Workload
from enginescope.records.verdict.upgrade import Stack
from enginescope.services.upgrade.stacks import StackRunner
from tests.analysis.in_turn import process
from tests.cli.suites.test_suite_environments import with_version
from tests.one_way.verdicts import pair, save

SOURCE = Path(__file__).resolve().parents[3] / "src"
#: Adds 1 to every output that a session of ONNX Runtime returns for samples.
PLANT = """
from enginescope.core.record import replace
from enginescope.formats.tensors import tensor_files
usual = tensor_files.write_answers
def wrong(path, tensors):
    changed = [replace(one, data=one.data + 1) for one in tensors]
    return usual(path, changed)
tensor_files.write_answers = wrong
"""


@pytest.fixture
def python(tmp_path) -> Path:
    """This Python by another name; a module in its ``site`` folder is imported at its start."""
    site = tmp_path / "site"
    site.mkdir()
    path = tmp_path / "other-python"
    path.write_text(
        f'#!/bin/sh\nPYTHONPATH="{site}:{SOURCE}" exec "{sys.executable}" "$@"\n', encoding="utf-8"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_planted_output_error_is_found_and_nothing_is_timed(
    tmp_path, convnet, python, capsys
) -> None:
    (tmp_path / "site" / "sitecustomize.py").write_text(PLANT)
    table, page = tmp_path / "table.md", tmp_path / "page.html"
    status = main(
        [
            *("upgrade", str(convnet), "--old", sys.executable, "--new", str(python)),
            *("--samples", "1", "--store", str(tmp_path / "store"), "--json"),
            *("--markdown", str(table), "--html", str(page)),
        ]
    )
    report = json.loads(capsys.readouterr().out)
    assert status == 1
    (model,) = report["report"]["models"]
    assert [row["reason"] for row in model["rows"]] == ["outputs-fail", "outputs-first"]
    assert model["evidence"] is None
    assert not model["new"]
    assert not list((tmp_path / "store").glob("runs/*"))
    assert report["answer"].startswith("upgrade is not safe")
    assert "| worse |" in table.read_text(encoding="utf-8")
    assert "upgrade is not safe" in page.read_text(encoding="utf-8").lower()


@pytest.mark.skipif(find_spec("tensorrt") is not None, reason="TensorRT is here")
def test_this_python_needs_no_packages_of_a_stack(tmp_path, convnet, python, capsys) -> None:
    """TensorRT is missing here and there: the processes there say so."""
    arguments = ["upgrade", str(convnet), "--old", f"a={python}", "--new", f"b={python}"]
    arguments += ["--on", "trt", "--samples", "1", "--store", str(tmp_path / "store"), "--json"]
    assert main(arguments) == 1
    (model,) = json.loads(capsys.readouterr().out)["report"]["models"]
    assert model["rows"][0]["reason"] == "both-fail"
    assert "tensorrt" in model["rows"][0]["message"].lower()


def fake_job(python: Path, **options: str) -> tuple[StackRunner, Job]:
    stack = Stack(name="new", python=str(python))
    job = Job(
        subject=Subject(name="net.onnx", kind="onnx"),
        backend=BackendSpec(name="fake", environment="new", options=options),
        workload=Workload(
            warmup=WarmUp(time_ms=0, iterations=1), stop=StopRule(iterations=5, precision_pct=None)
        ),
        layer_profile=False,
    )
    return StackRunner((stack,), "typed"), job


def test_a_job_runs_in_the_other_python(python) -> None:
    with_version(python.parent / "site", "0.9.9")
    runner, job = fake_job(python)
    kept = []
    (run,) = runner.run_jobs((job,), kept.append)
    assert kept == [run]
    assert run.headline is not None
    assert len(run.headline) == 5
    assert run.environment.versions["onnxruntime"] == "0.9.9"
    assert run.command == "typed"
    assert str(run.job.backend) == "fake@new"


def test_a_python_that_fails_makes_a_failed_run(tmp_path, python) -> None:
    (tmp_path / "site" / "sitecustomize.py").write_text("raise SystemExit('no GPU today')\n")
    runner, job = fake_job(python)
    (run,) = runner.run_jobs((job,), lambda _: None)
    assert run.outcome.kind.value == "failed"
    assert "environment new" in (run.outcome.message or "")


def test_recorded_runs_have_the_evidence_that_they_have_and_need_a_counterpart(
    tmp_path, capsys
) -> None:
    pair(tmp_path)
    arguments = ["upgrade", "--old", "a", "--new", "b", "--store", str(tmp_path / "store")]
    assert main(arguments) == 1
    shown = capsys.readouterr().out
    assert "upgrade is not safe" in shown
    assert "samples of one process" in shown
    assert "no-outputs" in shown
    arguments[4] = "nowhere"
    assert main(arguments) == 2
    assert "nowhere" in capsys.readouterr().err


def test_a_win_of_recorded_runs_is_withheld(tmp_path, capsys) -> None:
    save(tmp_path, process(1.2), tag="a")
    save(tmp_path, process(1.0, seed=3), tag="b")
    arguments = ["upgrade", "--old", "a", "--new", "b", "--store", str(tmp_path / "store")]
    assert main(arguments) == 1
    assert main([*arguments, "--inconclusive", "pass"]) == 0
    assert "outputs-first" in capsys.readouterr().out
