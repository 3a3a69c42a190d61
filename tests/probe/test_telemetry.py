# ruff: noqa: RUF012 - class attributes stand in for what a service sends
import json
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from enginescope.core.errors import MissingDependencyError, UnsupportedError
from enginescope.probe.telemetry import sampling, worker
from enginescope.probe.telemetry.jetson import open_jetson
from enginescope.probe.telemetry.sampler_sources import open_sampler
from enginescope.probe.telemetry.sampling import Sampling, now_ms, series_of
from enginescope.records.run import telemetry as channel
from enginescope.records.run.telemetry import POWER, SM_CLOCK
from tests.fakes.fake_gpus import use


class Board:
    """What ``jtop.jtop`` gives on an Orin, as far as it is asked for."""

    board = {"hardware": {"Model": "Jetson AGX Orin"}}
    gpu = {
        "ga10b": {
            "type": "integrated",
            "status": {"load": 87.5},
            "freq": {"cur": 1_300_500, "max": 1_300_500},
        }
    }
    memory = {
        "RAM": {"tot": 31_000_000, "used": 9_000_000, "shared": 512_000},
        "EMC": {"cur": 3_199_000, "val": 31},
    }
    power = {"tot": {"power": 23_400, "avg": 20_000}}
    temperature = {"gpu": {"temp": 47.5, "online": True}, "cpu": {"temp": 50.0}}
    processes = [[4711, "user", "I", "Graphic", 20, "S", 1.0, 90_000, 40_000, "python3"]]
    closed = False

    def __init__(self, interval: float) -> None:
        assert interval > 0

    def start(self) -> None:
        """Connect."""

    def ok(self) -> bool:
        return True

    def close(self) -> None:
        type(self).closed = True


@pytest.fixture
def install(monkeypatch):
    return lambda board: monkeypatch.setitem(sys.modules, "jtop", SimpleNamespace(jtop=board))


def test_a_board_in_our_units(install) -> None:
    install(Board)
    sampler = open_sampler("0")
    assert (sampler.gpu.source, sampler.gpu.name) == ("jtop", "Jetson AGX Orin")
    assert sampler.gpu.max_sm_clock_mhz == 1300
    assert dict(sampler.sample(4711)) == {
        channel.POWER: pytest.approx(23.4),
        channel.UTILIZATION: 87.5,
        channel.MEMORY_UTILIZATION: 31.0,
        channel.DEVICE_MEMORY: 512_000 * 1024,
        channel.PROCESS_MEMORY: 40_000 * 1024,
        channel.MEMORY_CLOCK: 3199,
        channel.TEMPERATURE: 47.5,
        channel.SM_CLOCK: 1300,
    }
    assert sampler.sample(1)[channel.PROCESS_MEMORY] is None
    assert sampler.processes()[0].name == "python3"


def test_what_a_board_lacks_is_none_or_named(install) -> None:
    class Nano(Board):
        power: dict = {}
        memory: dict = {}
        temperature = {"GPU": {"temp": -256}}

    install(Nano)
    found = open_jetson("0").sample(4711)
    assert found[channel.POWER] is None
    assert found[channel.TEMPERATURE] is None
    assert found[channel.DEVICE_MEMORY] is None
    assert found[channel.SM_CLOCK] == 1300

    class Dead(Board):
        def start(self) -> None:
            raise RuntimeError("the jtop.service is not active")

    class Discrete(Board):
        gpu = {"0": {"type": "discrete"}}

    install(Dead)
    with pytest.raises(UnsupportedError, match="not active") as caught:
        open_jetson("0")
    assert "systemctl" in (caught.value.hint or "")
    install(Discrete)
    with pytest.raises(UnsupportedError, match="no integrated GPU"):
        open_jetson("0")
    assert Discrete.closed


def test_without_jetson_stats_it_is_not_mentioned(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jtop", None)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(MissingDependencyError):
        open_jetson("0")
    with pytest.raises(UnsupportedError) as caught:
        open_sampler("0")
    assert "jtop" not in str(caught.value)
    assert "NVML" in str(caught.value)


def test_a_process_samples_between_begin_and_end(monkeypatch) -> None:
    use(monkeypatch, "h200")
    begun = now_ms()
    with Sampling("0", 20) as found:
        first = now_ms()
        assert found._process.poll() is None
        time.sleep(0.2)
        last = now_ms()
    assert found._process.poll() == 0
    times = found.series.time_ms
    assert begun <= times[0] <= first
    assert times[-1] >= last
    assert len(times) >= 3
    assert not found._file.exists()


def test_a_process_that_dies_says_so_and_leaves_nothing(monkeypatch) -> None:
    use(monkeypatch, "no such scenario")
    found = Sampling("0", 20)
    with pytest.raises(UnsupportedError, match="ended with status 1"), found:
        pass
    assert not found._file.exists()
    # nor is one that hangs waited for
    monkeypatch.setattr(sampling, "START_S", 0.2)
    monkeypatch.setattr(sampling, "_END_S", 0.2)
    hanging = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(sampling, "_python", lambda: hanging)
    with pytest.raises(UnsupportedError, match="nothing within"), Sampling("0", 20):
        pass


def test_a_line_cut_off_by_a_death_is_left_out(tmp_path) -> None:
    file = tmp_path / "cut.jsonl"
    whole = json.dumps({"at_ns": 1_000_000, "values": {POWER: 70.0, SM_CLOCK: None}})
    file.write_text(f"{whole}\n{whole[:20]}")
    (line,) = sampling._lines(file)
    assert line == worker.Line(at_ns=1_000_000, values={POWER: 70.0, SM_CLOCK: None})
    # so are channels that were never reported
    found = series_of([0.0, 1.0], [{POWER: 70.0, SM_CLOCK: None}, {POWER: None}])
    assert [one.name for one in found.channels] == [POWER]
    power = found.channel(POWER)
    assert power[0] == 70
    assert np.isnan(power[1])
