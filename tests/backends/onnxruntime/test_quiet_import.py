"""The wheels themselves: importing writes nothing, and the GPU's wheel runs nowhere else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from enginescope.records.run.run import OutcomeKind
from enginescope.runner.jobs import make_jobs
from enginescope.runner.session import run_jobs
from tests.backends.onnxruntime import models
from tests.backends.onnxruntime.test_backend import QUICK
from tests.wheels import unpacked


def test_neither_home_nor_temporary_folder_is_written_to(tmp_path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(temporary)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    environment.pop("XDG_CACHE_HOME", None)
    code = "import enginescope.backends.onnxruntime.backend, onnxruntime"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ort-cuda", "ort-trt"])
def test_missing_gpu_libraries_are_unsupported(tmp_path, monkeypatch, backend) -> None:
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has an NVIDIA GPU")
    gpu_wheel = unpacked("onnxruntime-gpu", large=True)
    inherited = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(gpu_wheel), inherited]))
    jobs = make_jobs([models.relu(tmp_path / "m.onnx")], [backend], QUICK)
    (run,) = run_jobs(jobs, lambda _: None)
    assert run.outcome.kind is OutcomeKind.UNSUPPORTED
    assert "did not start" in (run.outcome.message or "")
    assert run.samples == ()
    assert run.profile is None
    assert run.environment.versions["onnxruntime-gpu"]
