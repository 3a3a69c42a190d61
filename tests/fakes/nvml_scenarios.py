"""Runs and processes that find the stand-in for NVML."""

from pathlib import Path

import pytest

from enginescope.records.run import job as records
from enginescope.records.run.job import TelemetryRule, Workload
from enginescope.records.run.run import Run
from enginescope.runner.session import run_jobs
from tests.fakes.loading import python_path

FOLDER = Path(__file__).resolve().parent / "nvml"
SHORT = TelemetryRule(depth="full", interval_ms=20, duration_ms=1_500, idle_ms=300, settle_ms=100)


def use(patch: pytest.MonkeyPatch, scenario: str) -> None:
    """Let every process started from here on find the stand-in."""
    patch.setenv("PYTHONPATH", python_path(FOLDER))
    patch.setenv("FAKE_NVML", scenario)


def measured(
    patch: pytest.MonkeyPatch, scenario: str, gpu: str | None = "0", rule: TelemetryRule = SHORT
) -> Run:
    """Measure the fake backend on the stand-in's GPU, in processes as always."""
    use(patch, scenario)
    options = {"latency_us": "500", **({"gpu": gpu} if gpu is not None else {})}
    warmup, stop = records.WarmUp(time_ms=0, iterations=1), records.StopRule(duration_ms=300)
    job = records.Job(
        subject=records.Subject(name="nothing", kind="synthetic"),
        backend=records.BackendSpec(name="fake", options=options),
        workload=Workload(warmup=warmup, stop=stop),
        layer_profile=False,
        telemetry=rule,
    )
    (run,) = run_jobs([job], lambda _: None)
    assert run.outcome.message is None
    return run
