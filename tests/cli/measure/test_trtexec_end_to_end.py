"""The verb, the runner, its workers and the backend, on the stand-in for TensorRT and CUDA."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from enginescope.store.archive import Store

FAKES = Path(__file__).parents[2] / "fakes" / "site"
SHORT = ("--duration=0", "--iterations=60", "--warmUp=0")


@pytest.fixture
def trtexec(tmp_path):
    """Run the verb in a folder with a stand-in for TensorRT installed beside it."""

    def run(*flags: str, version: str = "10.16.1", fault: str = ""):
        packages = tmp_path / "packages" / f"tensorrt-{version}.dist-info"
        packages.mkdir(parents=True, exist_ok=True)
        (packages / "METADATA").write_text(f"Name: tensorrt\nVersion: {version}\n")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(FAKES), str(packages.parent)]),
            "ENGINESCOPE_HOME": str(tmp_path / "store"),
            "FAKE_TENSORRT": version,
            "FAKE_TENSORRT_FAULT": fault,
        }
        command = [sys.executable, "-m", "enginescope", "trtexec", *flags]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    return run


@pytest.mark.parametrize("version", ["8.6.0", "10.16.1", "11.4.0"])
def test_what_is_written_reads_back_to_what_is_printed(trtexec, tmp_path, convnet, version) -> None:
    flags = ["--separateProfileRun", "--dumpProfile", "--dumpOutput", "--saveEngine=net.engine"]
    flags += ["--exportTimes=net.timing.json", "--exportProfile=net.profile.json"]
    flags += ["--exportLayerInfo=net.graph.json", "--profilingVerbosity=detailed"]
    done = trtexec(f"--onnx={convnet}", *SHORT, *flags, version=version)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "[E]" not in done.stdout + done.stderr  # TensorRT 8.6 logs a profiler that is taken off
    (tmp_path / "net.profile.log").write_text(done.stdout)
    log, notices = parse_trtexec_log(done.stdout.encode(), "log")
    assert notices == ()
    assert log.report.passed
    assert log.report.options["Inference Options"]["CUDA Graph"] == (
        "Enabled" if version == "11.4.0" else "Disabled"
    )
    (run,) = import_artifacts(sorted(tmp_path.glob("net.*.*"))).runs
    assert {one.code for one in run.notices if one.level == "warning"} == set()
    assert len(run.headline or ()) >= 60
    assert len(run.profile.layers) == len(run.plan.layers)
    ours = Store(tmp_path / "store")
    (row,) = ours.rows()
    kept = ours.load(row.id)
    assert row.id in done.stderr
    for one in run.samples:
        theirs = kept.series(one.metric)
        if theirs is not None:
            assert one.values_ms.tolist() == pytest.approx(theirs.values_ms.tolist(), rel=1e-9)
    again = trtexec("--loadEngine=net.engine", *SHORT, version=version)
    assert again.returncode == 0, again.stderr
    assert "Performance summary" in again.stdout


def test_streams_are_in_the_times_and_a_graph_that_is_refused_is_said(
    trtexec, tmp_path, convnet
) -> None:
    flags = ("--infStreams=2", "--exportTimes=times.json", "--exportOutput=out.json")
    asked = (f"--onnx={convnet}", *SHORT, *flags, "--useCudaGraph")
    done = trtexec(*asked, fault="graph_refused")
    assert done.returncode == 0, done.stderr
    assert "[W] The CUDA graph capture on the stream has failed." in done.stderr
    rows = json.loads((tmp_path / "times.json").read_text())
    assert len(rows) >= 120
    assert {(row["streamIndex"], row["cudaGraph"]) for row in rows} == {(0, 0), (1, 0)}
    starts = [row["startH2dMs"] for row in rows]
    assert starts == sorted(starts)
    (output,) = json.loads((tmp_path / "out.json").read_text())
    assert output["type"] == "fp32"


def test_a_skipped_inference_leaves_engine_and_layers(trtexec, tmp_path, convnet) -> None:
    flags = ("--skipInference", "--saveEngine=net.engine", "--exportLayerInfo=layers.json")
    done = trtexec(f"--onnx={convnet}", *flags)
    assert done.returncode == 0, done.stderr
    assert "Engine built in" in done.stdout
    assert "Starting inference" not in done.stdout
    assert (tmp_path / "net.engine").stat().st_size > 0
    assert json.loads((tmp_path / "layers.json").read_text())["Layers"]


@pytest.mark.parametrize("fault", ["build_fails", "execute_fails", "crash_run", "no_gpu"])
def test_what_fails_ends_in_failed_and_no_gpu_is_said_at_once(trtexec, convnet, fault) -> None:
    done = trtexec(f"--onnx={convnet}", *SHORT, fault=fault)
    assert "Traceback" not in done.stderr
    if fault == "no_gpu":
        assert (done.returncode, done.stdout) == (2, "")
        assert "no NVIDIA GPU" in done.stderr
        return
    assert done.returncode == 1
    assert "[E] " in done.stderr
    assert done.stdout.splitlines()[-1].startswith("&&&& FAILED TensorRT.trtexec")
