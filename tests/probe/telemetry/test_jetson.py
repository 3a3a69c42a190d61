# ruff: noqa: RUF012 - class attributes stand in for what a service sends
import sys
from types import SimpleNamespace

import pytest

from enginescope.core.errors import MissingDependencyError, UnsupportedError
from enginescope.probe.telemetry.jetson import open_jetson
from enginescope.probe.telemetry.sampler_sources import open_sampler
from enginescope.records.run import telemetry as channel


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
        pass

    def ok(self) -> bool:
        return True

    def close(self) -> None:
        type(self).closed = True


def install(monkeypatch, board: type[Board]) -> None:
    monkeypatch.setitem(sys.modules, "jtop", SimpleNamespace(jtop=board))


def test_a_board_in_our_units(monkeypatch) -> None:
    install(monkeypatch, Board)
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


def test_parts_that_a_board_lacks_are_none(monkeypatch) -> None:
    class Nano(Board):
        power: dict = {}
        memory: dict = {}
        temperature = {"GPU": {"temp": -256}}

    install(monkeypatch, Nano)
    found = open_jetson("0").sample(4711)
    assert found[channel.POWER] is None
    assert found[channel.TEMPERATURE] is None
    assert found[channel.DEVICE_MEMORY] is None
    assert found[channel.SM_CLOCK] == 1300


def test_a_service_that_is_not_there(monkeypatch) -> None:
    class Dead(Board):
        def start(self) -> None:
            raise RuntimeError("the jtop.service is not active")

    install(monkeypatch, Dead)
    with pytest.raises(UnsupportedError, match="not active") as caught:
        open_jetson("0")
    assert "systemctl" in (caught.value.hint or "")


def test_a_board_without_an_integrated_gpu(monkeypatch) -> None:
    class Discrete(Board):
        gpu = {"0": {"type": "discrete"}}

    install(monkeypatch, Discrete)
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
