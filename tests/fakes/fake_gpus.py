"""Stand-ins for NVML: GPUs whose clocks processes share, and runs on scenarios of ``nvml``."""

import fcntl
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from enginescope.records.run import job as records
from enginescope.records.run.job import TelemetryRule, Workload
from enginescope.records.run.run import Run
from enginescope.runner.session import run_jobs
from tests.fakes.loading import python_path

SITE = Path(__file__).resolve().parent / "clocks_site"
NVML = SITE.parent / "nvml"
SHORT = TelemetryRule(depth="full", interval_ms=20, duration_ms=1_500, idle_ms=300, settle_ms=100)
GPU = "GPU-0000"
#: Like an H200: its default clock is its highest, its base clock has no figure.
DATA_CENTRE: dict[str, Any] = {
    "max_sm": 1980,
    "max_memory": 3201,
    "default_sm": 1980,
    "memory_clocks": [3201],
    "sm_clocks": list(range(1980, 344, -15)),
    "reasons": 0,
    "persistence": 1,
    "temperatures": [40],
}


class FakeGpus:
    """The GPUs of this machine, in a file."""

    def __init__(self, folder: Path, gpus: dict[str, dict[str, Any]]) -> None:
        self.file = folder / "gpus.json"
        self.file.write_text(json.dumps({"gpus": gpus, "calls": []}))

    def put_in(self, monkeypatch: Any, temporary: Path) -> None:
        """Let this process and those it starts see them, with a register of their own."""
        monkeypatch.setenv("PYTHONPATH", python_path(SITE))
        monkeypatch.setenv("FAKE_GPUS", str(self.file))
        monkeypatch.setenv("TMPDIR", str(temporary))
        monkeypatch.setattr("tempfile.tempdir", None)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.syspath_prepend(str(SITE))
        monkeypatch.delitem(sys.modules, "pynvml", raising=False)

    def gpu(self, uuid: str = GPU) -> dict[str, Any]:
        return self._state()["gpus"][uuid]

    def calls(self) -> list[tuple[str, str]]:
        """Return what was changed, in order: the call and the GPU."""
        return [(call, gpu) for _, call, gpu, _ in self._state()["calls"]]

    def pids(self) -> set[int]:
        return {pid for pid, *_ in self._state()["calls"]}

    def is_free(self, uuid: str = GPU) -> bool:
        now = self.gpu(uuid)
        return now.get("locked_sm") is None and now.get("locked_memory") is None

    def _state(self) -> dict[str, Any]:
        with self.file.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)  # not while one of the processes writes
            return json.load(file)


def use(patch: pytest.MonkeyPatch, scenario: str) -> None:
    """Let every process started from here on find the stand-in."""
    patch.setenv("PYTHONPATH", python_path(NVML))
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
