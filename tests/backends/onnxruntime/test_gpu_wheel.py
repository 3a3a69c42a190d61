"""The real GPU wheel on a machine without CUDA or TensorRT: `unsupported`, never a latency."""

import os
from pathlib import Path

import pytest

from enginescope.records.run.run import OutcomeKind
from enginescope.runner.jobs import make_jobs
from enginescope.runner.session import run_jobs
from tests.backends.onnxruntime import models
from tests.backends.onnxruntime.test_backend import QUICK
from tests.wheels import unpacked


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
