"""The backend as a user runs it: a worker process, the command line, the store."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from enginescope.backends.trtexec.inputs import onnx_inputs
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.runner.inputs.inputs import make_feeds
from enginescope.runner.jobs import make_jobs
from enginescope.runner.session import run_jobs
from tests.backends.trtexec.jobs import workload
from tests.cli.called import called

QUICK = ["--duration", "20ms", "--warmup", "100ms"]


def stored(store: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted((store / "runs").glob("*/run.json"))]


def test_jobs_become_runs(tool, convnet, engine) -> None:
    tool.version("10.16.0")
    kept: dict[str, str] = {}

    def sink(run: Run) -> None:
        kept.update({one.kind: Path(one.path).read_text() for one in run.artifacts})

    jobs = make_jobs([convnet], ["trtexec:fp16"], workload(batch=2, seed=3))
    jobs += make_jobs([engine], ["trtexec"], workload())
    model, plan = run_jobs(jobs, sink)
    for run in (model, plan):
        assert run.outcome.kind is OutcomeKind.OK, run.outcome
        assert run.headline.metric == "trtexec_latency"
        assert run.job.workload.mode.kind == "throughput"
        assert run.job.workload.mode.cuda_graph is True
        assert None not in (run.tool, run.plan, run.profile)
    assert model.job.workload.batch == 2
    assert {"tool_log", "trtexec_times", "trtexec_profile", "plan"} <= set(kept)
    fed = np.frombuffer((tool.kept / "image.raw").read_bytes(), "<f4")
    expected = make_feeds(onnx_inputs(convnet), workload(batch=2, seed=3)).arrays["image"]
    np.testing.assert_array_equal(fed.reshape(expected.shape), expected)


def texts(run: Run) -> list[str]:
    return [Path(one.path).read_text() for one in run.artifacts if one.kind == "worker_log"]


def test_failures_are_outcomes_with_the_log(tool, engine) -> None:
    jobs = make_jobs([engine], ["trtexec"], workload())
    for fault, kind, words in (
        ("segv", OutcomeKind.FAILED, "SIGSEGV"),
        ("loader", OutcomeKind.UNSUPPORTED, "libnvinfer.so.8"),
    ):
        tool.fault(fault)
        logs: list[str] = []
        (run,) = run_jobs(jobs, lambda one, seen=logs: seen.extend(texts(one)))
        assert run.outcome.kind is kind
        assert words in (run.outcome.message or "")
        assert run.samples == ()
        assert fault == "loader" or any("&&&& RUNNING" in text for text in logs)


def test_the_command_line(tool, tmp_path, convnet) -> None:
    ended = called(
        *("bench", "--store", tmp_path / "store", convnet, "-v", *QUICK, "--on", "trtexec:fp16"),
        *("--trtexec-args", "--avgRuns=50 --tempdir='a b'", "--", "--percentile=50"),
    )
    assert ended.returncode == 0, ended.stderr
    assert tool.arguments[-3:] == ["--avgRuns=50", "--tempdir=a b", "--percentile=50"]
    assert tool.has("fp16")
    (run,) = stored(tmp_path / "store")
    wanted = "--avgRuns=50 '--tempdir=a b' --percentile=50"
    assert run["job"]["backend"]["options"]["args"] == wanted
    assert "--percentile=50" in run["tool"]["command"]
    assert "as trtexec printed it" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--on", "fake", "--trtexec-args", "--avgRuns=5"], "no --on is trtexec"),
        (["--on", "fake", "--", "--avgRuns=5"], "no --on is trtexec"),
        (["--on", "trtexec", "--", "model.onnx"], "is not an argument of trtexec"),
        (["--on", "trtexec", "--trtexec-args", "--exportTimes=x"], "enginescope sets it"),
        (["--on", "trtexec:fp61"], "no precision 'fp61'"),
        (["--on", "trtexec?stamps=1"], "six digits"),
        (["--on", "trtexec?binary=/absent"], "no such file"),
    ],
)
def test_user_errors(tool, tmp_path, convnet, arguments, message) -> None:
    ended = called("bench", "--store", tmp_path / "store", convnet, *arguments)
    assert ended.returncode == 2, ended.stderr
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    assert stored(tmp_path / "store") == []


def test_a_machine_without_trtexec(tmp_path, convnet, monkeypatch) -> None:
    if Path("/usr/src/tensorrt/bin/trtexec").exists():
        pytest.skip("this machine has it at the usual place")
    monkeypatch.delenv("TRTEXEC", raising=False)
    monkeypatch.setenv("PATH", os.defpath)
    ended = called("bench", "--store", tmp_path / "store", convnet, "--on", "trtexec")
    assert ended.returncode == 2
    assert "trtexec is not on this machine" in ended.stderr
    assert "libnvinfer-bin" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_run_that_failed_is_exit_code_three(tool, tmp_path, engine) -> None:
    tool.fault("fails")
    ended = called("bench", "--store", tmp_path / "store", engine, *QUICK, "--on", "trtexec")
    assert ended.returncode == 3
    assert "no outputs" in ended.stdout
    (run,) = stored(tmp_path / "store")
    assert run["outcome"]["kind"] == "failed"
