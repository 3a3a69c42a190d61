"""The real GPU wheel on a machine without CUDA or TensorRT: `unsupported`, never a latency."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnxruntime
import pytest

from enginescope.model.run import OutcomeKind
from enginescope.runner.jobs import make_jobs
from enginescope.runner.session import run_jobs
from tests.backends.onnxruntime import models
from tests.backends.onnxruntime.test_backend import QUICK
from tests.conftest import STRICT

WHEEL = Path(__file__).resolve().parents[3] / ".cache" / f"ort-gpu-{onnxruntime.__version__}"


@pytest.fixture(scope="module")
def gpu_wheel() -> Path:
    """The folder of onnxruntime-gpu; installed (a quarter of a gigabyte) where all must run."""
    if not WHEEL.is_dir():
        if not STRICT:
            pytest.skip("needs onnxruntime-gpu; ENGINESCOPE_TEST_STRICT=1 installs it")
        wanted = f"onnxruntime-gpu=={onnxruntime.__version__}"
        part = WHEEL.with_suffix(".part")
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(part)]
        subprocess.run([*command, wanted], check=True, timeout=280)
        part.rename(WHEEL)
    return WHEEL


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ort-cuda", "ort-trt"])
def test_missing_gpu_libraries_are_unsupported(tmp_path, monkeypatch, gpu_wheel, backend) -> None:
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has an NVIDIA GPU")
    inherited = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(gpu_wheel), inherited]))
    jobs = make_jobs([models.relu(tmp_path / "m.onnx")], [backend], QUICK)
    (run,) = run_jobs(jobs, lambda _: None)
    assert run.outcome.kind is OutcomeKind.UNSUPPORTED
    assert "did not start" in (run.outcome.message or "")
    assert run.samples == ()
    assert run.profile is None
    assert run.environment.versions["onnxruntime-gpu"]
