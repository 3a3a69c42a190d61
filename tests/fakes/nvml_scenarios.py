"""Runs and processes that find the stand-in for NVML."""

import os
from pathlib import Path

import pytest

from enginescope.records.run.job import (
    BackendSpec,
    Job,
    StopRule,
    Subject,
    TelemetryRule,
    WarmUp,
    Workload,
)
from enginescope.records.run.run import Run
from enginescope.runner.session import run_jobs

FOLDER = Path(__file__).resolve().parent / "nvml"
SHORT = TelemetryRule(depth="full", interval_ms=20, duration_ms=1_500, idle_ms=300, settle_ms=100)


def use(patch: pytest.MonkeyPatch, scenario: str) -> None:
    """Let every process started from here on find the stand-in."""
    inherited = os.environ.get("PYTHONPATH", "")
    patch.setenv("PYTHONPATH", os.pathsep.join((str(FOLDER), *([inherited] if inherited else []))))
    patch.setenv("FAKE_NVML", scenario)


def measured(
    patch: pytest.MonkeyPatch, scenario: str, gpu: str | None = "0", rule: TelemetryRule = SHORT
) -> Run:
    """Measure the fake backend on the stand-in's GPU, in processes as always."""
    use(patch, scenario)
    options = {"latency_us": "500", **({"gpu": gpu} if gpu is not None else {})}
    job = Job(
        subject=Subject(name="nothing", kind="synthetic"),
        backend=BackendSpec(name="fake", options=options),
        workload=Workload(warmup=WarmUp(time_ms=0, iterations=1), stop=StopRule(duration_ms=300)),
        layer_profile=False,
        telemetry=rule,
    )
    (run,) = run_jobs([job], lambda _: None)
    assert run.outcome.message is None
    return run
