"""The GPU while a trtexec works: stand-ins for it and for NVML."""

import importlib.util
import sys

import pytest

from enginescope.analysis.runs.gpu_state import energy_notices, energy_of
from enginescope.backends.trtexec.backend import GpuBeside
from enginescope.core.record import replace
from enginescope.probe import nvml
from enginescope.probe.nvml import probe_devices
from enginescope.records.run.job import StopRule, TelemetryRule
from enginescope.records.run.telemetry import clock_around
from tests.backends.trtexec.jobs import codes, job, measured, workload
from tests.fakes import fake_gpus

FULL = TelemetryRule(depth="full", interval_ms=20)


@pytest.fixture
def nvml_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_TRTEXEC_TAKES_TIME", "1")
    fake_gpus.use(monkeypatch, "h200")
    spec = importlib.util.spec_from_file_location("pynvml", fake_gpus.NVML / "pynvml.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "pynvml", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(nvml, "probe_devices", probe_devices)


def timed(engine, rule: TelemetryRule, duration_ms: float = 20.0, **options: str):
    asked = workload(stop=StopRule(duration_ms=duration_ms))
    return measured(replace(job(engine, options=options, workload=asked), telemetry=rule))


def test_the_timed_loop_is_sampled(tool, engine, nvml_stand_in) -> None:
    found = timed(engine, FULL, 500.0)
    gpu = found.gpu
    span = gpu.span("load")
    assert span == replace(gpu.span("timed"), kind="load")
    assert gpu.requests == len(found.samples[0])
    assert span.duration_ms == pytest.approx(found.wall_ms, rel=0.01)
    inside = gpu.series.between(span.from_ms, span.to_ms)
    assert inside.time_ms.size >= 5
    assert {"sm_clock_mhz", "power_w"} <= {one.name for one in inside.channels}
    energy = energy_of(gpu)
    if energy is None:  # a busy machine read it too rarely, and that is said
        assert {one.code for one in energy_notices(gpu)} == {"W-ENERGY-WINDOW"}
    else:
        assert energy.joules > 0
        assert energy.idle_w is None
    assert "I-SAMPLED-BESIDE" in codes(found)
    assert "W-NO-TELEMETRY" not in codes(found)


def test_usually_only_the_clock_is_read(tool, engine, nvml_stand_in) -> None:
    found = timed(engine, TelemetryRule(), 500.0)
    assert found.gpu.series is None
    assert clock_around(found.gpu.timed) is not None
    assert "power_w" not in {one.name for one in found.gpu.timed.channels}
    assert "I-SAMPLED-BESIDE" not in codes(found)
    assert timed(engine, TelemetryRule(depth="off")).gpu is None


def test_the_device_is_that_of_trtexec(tool, engine, nvml_stand_in) -> None:
    found = timed(engine, FULL, device="7")
    assert found.gpu is None
    assert "W-NO-TELEMETRY" in codes(found)


def test_a_machine_without_a_gpu_to_ask(tool, engine) -> None:
    found = timed(engine, FULL)
    assert found.gpu is None
    assert "W-NO-TELEMETRY" in codes(found)
    assert "W-NO-TELEMETRY" not in codes(timed(engine, TelemetryRule()))


def test_nothing_is_read_before_the_engine_is_there(nvml_stand_in) -> None:
    with GpuBeside(FULL, "0") as beside:
        beside.started(1)
        beside.take("[I] Start parsing network model.\n")
        assert not beside._is_built.wait(0.1)
        assert beside._readings == []
        beside.take("[I] Engine built in 2.25 sec.\n")
    assert beside.result() is None
    assert [one.code for one in beside.notices] == ["W-NO-TELEMETRY"]
