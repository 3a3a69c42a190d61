"""``enginescope upgrade`` with another Python of this machine, and with recorded runs."""

import json
import sys
from importlib.util import find_spec

import pytest

from enginescope.core.jsonio import sha256_of
from enginescope.records.run.job import BackendSpec, Job, StopRule, Subject, WarmUp, Workload
from enginescope.records.verdict.upgrade import Stack
from enginescope.services.upgrade.stacks import StackRunner
from tests.cli.suites.test_suite_environments import python, with_version
from tests.one_way.verdicts import bundle, pair
from tests.plants.in_process import workers_in_process
from tests.services.upgrade.test_upgrade import planted

__all__ = ["planted", "python"]
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


def test_a_planted_output_error_is_found_and_nothing_is_timed(
    tmp_path, convnet, python, verb
) -> None:
    (tmp_path / "site" / "sitecustomize.py").write_text(PLANT)
    table, page = tmp_path / "table.md", tmp_path / "page.html"
    sides = ("upgrade", convnet, "--old", sys.executable, "--new", python, "--samples", 1)
    status, shown, _ = verb(*sides, "--json", "--markdown", table, "--html", page)
    report = json.loads(shown)
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
def test_this_python_needs_no_packages_of_a_stack(convnet, python, verb) -> None:
    """TensorRT is missing here and there: the processes there say so."""
    sides = ("--old", f"a={python}", "--new", f"b={python}", "--on", "trt", "--samples", 1)
    status, shown, _ = verb("upgrade", convnet, *sides, "--json")
    assert status == 1
    (model,) = json.loads(shown)["report"]["models"]
    assert model["rows"][0]["reason"] == "both-fail"
    assert "tensorrt" in model["rows"][0]["message"].lower()


def test_a_job_runs_in_the_other_python_which_may_fail(tmp_path, python) -> None:
    with_version(tmp_path / "site", "0.9.9")
    runner = StackRunner((Stack(name="new", python=str(python)),), "typed")
    job = Job(
        subject=Subject(name="net.onnx", kind="onnx"),
        backend=BackendSpec(name="fake", environment="new"),
        workload=Workload(
            warmup=WarmUp(time_ms=0, iterations=1), stop=StopRule(iterations=5, precision_pct=None)
        ),
        layer_profile=False,
    )
    kept = []
    (run,) = runner.run_jobs((job,), kept.append)
    assert kept == [run]
    assert len(run.headline or ()) == 5
    assert run.environment.versions["onnxruntime"] == "0.9.9"
    assert (run.command, str(run.job.backend)) == ("typed", "fake@new")
    (tmp_path / "site" / "sitecustomize.py").write_text("raise SystemExit('no GPU today')\n")
    (run,) = runner.run_jobs((job,), lambda _: None)
    assert run.outcome.kind.value == "failed"
    assert "environment new" in (run.outcome.message or "")


def test_recorded_runs_have_the_evidence_that_they_have(tmp_path, verb) -> None:
    """They need a counterpart, and their win is withheld."""
    pair(tmp_path)
    status, shown, _ = verb("upgrade", "--old", "a", "--new", "b")
    assert status == 1
    assert "upgrade is not safe" in shown
    assert "samples of one process" in shown
    assert "no-outputs" in shown
    status, _, said = verb("upgrade", "--old", "nowhere", "--new", "b")
    assert status == 2
    assert "nowhere" in said
    swapped = ("upgrade", "--old", "b", "--new", "a")
    assert verb(*swapped)[0] == 1
    status, shown, _ = verb(*swapped, "--inconclusive", "pass")
    assert status == 0
    assert "outputs-first" in shown


def test_a_bundle_is_announced_checked_and_judged_again(tmp_path, verb) -> None:
    pair(tmp_path)
    folder = tmp_path / "bundle"
    status, _, said = verb("upgrade", "--old", "a", "--new", "b", "--evidence", folder)
    assert "the reason: enginescope explain " in said  # it ended without a step
    digest = sha256_of(folder / "manifest.json")
    assert status == 1
    assert f"SHA-256 of its manifest: {digest}" in said
    assert f"--reproduce {folder}" in said
    status, shown, said = verb("upgrade", "--reproduce", folder, "--check-only")
    assert status == 0
    assert shown.startswith("bundle is intact: all ")
    assert digest in shown
    assert "run it again" in said
    page, table = tmp_path / "page.html", tmp_path / "table.md"
    files = ("--html", page, "--markdown", table)
    status, shown, said = verb("upgrade", "--reproduce", folder, *files)
    assert "Recorded and new verdicts" in page.read_text(encoding="utf-8")
    assert table.read_text(encoding="utf-8").startswith("### enginescope: no verdict differs: ")
    assert f"open: {page}" in said
    assert "the reason: enginescope explain " in said
    assert status == 0
    assert shown.startswith("no verdict differs: ")
    assert "samples of one process" in shown
    assert "(same)" in table.read_text(encoding="utf-8")


def test_a_changed_byte_is_refused_with_its_file(tmp_path, verb) -> None:
    bundle(tmp_path)
    file = next((tmp_path / "bundle" / "runs").glob("*/arrays/*.npy"))
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    for flags in ([], ["--check-only"]):
        status, shown, said = verb("upgrade", "--reproduce", tmp_path / "bundle", *flags)
        assert (status, shown) == (2, "")
        assert f"{file.relative_to(tmp_path / 'bundle')} was changed" in said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("m.onnx", "--reproduce", "bundle"), "MODELS with --reproduce"),
        (("--reproduce", "bundle", "--rounds", "9"), "--rounds with --reproduce"),
        (("--reproduce", "bundle", "--on", "fake"), "--on with --reproduce"),
        (("--old", "a", "--check-only"), "--check-only without --reproduce"),
        ((), "--old is needed"),
    ],
)
def test_options_of_one_way_are_refused_in_the_other(verb, arguments, why) -> None:
    status, shown, said = verb("upgrade", *arguments)
    assert (status, shown) == (2, "")
    assert why in said


@pytest.mark.filterwarnings("ignore")
def test_another_verdict_exits_with_1(convnet, tmp_path, planted, verb) -> None:
    folder = tmp_path / "bundle"
    planted()
    with workers_in_process():
        usual = ("--on", "fake", "--rounds", 8, "--inconclusive", "pass", "--evidence", folder)
        assert verb("upgrade", convnet, "--old", sys.executable, *usual)[0] == 0
        planted(slowdown=1.05)
        status, shown, _ = verb("upgrade", "--reproduce", folder, "--json")
        assert status == 1
        found = json.loads(shown)
        assert found["reproduced"] is False
        assert "(latency)" in found["answer"]
        status, _, said = verb("upgrade", "--reproduce", folder, "--old", "/no/python")
    assert status == 2
    assert "/no/python" in said
    assert "--check-only runs nothing" in said
