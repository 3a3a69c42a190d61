"""The whole way of a GPU's readings into a run, over a stand-in for NVML, in real processes."""

import numpy as np
import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.records.run import telemetry as channel
from enginescope.records.run.job import TelemetryRule
from tests.fakes.fake_gpus import measured

MIG = "MIG-33333333-3333-3333-3333-333333333333"
H200 = "GPU-11111111-1111-1111-1111-111111111111"
BRIEF = TelemetryRule(depth="full", interval_ms=20, duration_ms=400, idle_ms=100, settle_ms=50)


def codes(run) -> set[str]:
    return {one.code for one in run.notices}


@pytest.fixture(scope="module")
def h200():
    with pytest.MonkeyPatch.context() as patch:
        yield measured(patch, "h200")


def test_channels_of_a_gpu_cover_idle_and_load_and_count_its_joules(h200) -> None:
    gpu = h200.gpu
    assert gpu.gpu.uuid == H200
    assert gpu.gpu.power_is_instant is False
    assert [one.name for one in gpu.series.channels] == list(channel.CHANNELS)
    assert [one.kind for one in gpu.spans] == ["timed", "idle", "load"]
    idle, load = gpu.span("idle"), gpu.span("load")
    assert idle.to_ms <= load.from_ms
    assert load.duration_ms >= 600
    assert gpu.requests is not None
    assert 0 < gpu.requests <= load.duration_ms / 0.5
    times = gpu.series.time_ms
    assert (np.diff(times) > 0).all()
    assert times[0] <= idle.from_ms
    assert times[-1] >= load.to_ms
    whole_ms = h200.telemetry.time_ms[-1]
    assert 0 < h200.gpu.span("timed").from_ms < h200.gpu.span("load").to_ms < whole_ms + 1_000
    assert h200.phase_ms("telemetry") >= 600 + 300
    assert h200.stop.duration_ms < 3_000
    assert len(h200.headline) == h200.stop.iterations
    assert h200.gpu.requests != h200.stop.iterations
    energy = RunView(h200).energy
    assert energy.method == "counter"
    assert energy.net_joules < energy.joules
    assert energy.idle_w < energy.load_w
    each_s = h200.gpu.span("load").duration_ms / 1e3 / h200.gpu.requests
    assert 70 * each_s * 0.8 < energy.joules < 430 * each_s * 1.2


def test_what_a_gpu_does_not_offer_is_added_up_or_not_there(monkeypatch) -> None:
    run = measured(monkeypatch, "consumer", rule=BRIEF)
    assert RunView(run).energy.method == "power"
    assert run.gpu.series.channel(channel.ENERGY) is None
    assert run.gpu.gpu.power_is_instant is True
    run = measured(monkeypatch, "refusing", rule=BRIEF)
    assert run.gpu.timed is None
    assert run.gpu.series.channels == ()
    assert RunView(run).energy is None
    assert RunView(run).cycles is None
    assert "I-NO-ENERGY" in codes(run)
    run = measured(monkeypatch, "mig", MIG, BRIEF)
    names = {one.name for one in run.gpu.series.channels}
    assert run.gpu.gpu.is_mig
    assert {channel.DEVICE_MEMORY, channel.SM_CLOCK, channel.TEMPERATURE} <= names
    assert not {channel.POWER, channel.ENERGY, channel.UTILIZATION} & names
    (said,) = [one for one in run.notices if one.code == "I-NO-ENERGY"]
    assert "MIG" in said.message


def test_the_gpu_is_found_by_its_uuid_whatever_its_place(monkeypatch) -> None:
    run = measured(monkeypatch, "two", H200, TelemetryRule(depth="clock"))
    assert run.gpu.gpu.name == "NVIDIA H200"
    assert run.gpu.series is None


def test_a_lost_gpu_a_slower_clock_and_others_on_it_are_said(monkeypatch) -> None:
    run = measured(
        monkeypatch,
        "lost",
        rule=TelemetryRule(
            depth="full", interval_ms=20, duration_ms=1_000, idle_ms=200, settle_ms=100
        ),
    )
    clock = run.gpu.series.channel(channel.SM_CLOCK)
    assert np.isfinite(clock[0])
    assert np.isnan(clock[-1])
    assert "W-GPU-SILENT" in codes(run)
    run = measured(monkeypatch, "throttling", rule=TelemetryRule(depth="clock"))
    by_code = {one.code: one for one in run.notices}
    assert "24 %" in by_code["W-CLOCK-DROP"].message
    assert "power cap" in by_code["W-THROTTLED"].message
    assert by_code["W-CLOCK-DROP"].evidence["before_mhz"] == 1980
    cycles = RunView(run).cycles
    assert cycles.clock_mhz == 1500
    assert cycles.cycles == pytest.approx(RunView(run).latency.median_ms * 1.5e6)
    run = measured(monkeypatch, "foreign", rule=TelemetryRule(depth="clock"))
    (other,) = run.gpu.others
    assert (other.pid, other.memory_bytes) == (1, 2 << 30)
    (said,) = [one for one in run.notices if one.code == "W-GPU-SHARED"]
    assert "PID 1 (" in said.message
    assert "2.00 GiB" in said.message


@pytest.mark.parametrize(
    ("scenario", "gpu", "why"),
    [
        ("none", "0", "no NVIDIA driver"),
        ("h200", None, "does not run on a GPU"),
        ("h200", "GPU-none", "has no GPU"),
    ],
)
def test_why_there_is_no_telemetry(monkeypatch, scenario, gpu, why) -> None:
    run = measured(monkeypatch, scenario, gpu)
    assert run.gpu is None
    (said,) = [one for one in run.notices if one.code == "W-NO-TELEMETRY"]
    assert why in said.message


def test_nothing_is_asked_where_nothing_is_wanted(monkeypatch) -> None:
    run = measured(monkeypatch, "throttling", rule=TelemetryRule(depth="off"))
    assert run.gpu is None
    assert not codes(run) & {"W-CLOCK-DROP", "W-THROTTLED", "W-NO-TELEMETRY"}
