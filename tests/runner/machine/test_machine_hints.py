import pytest

from enginescope.probe.host import CpuQuota
from enginescope.records.environment import ClockLock, Device, Environment, Host
from enginescope.runner.machine import machine_hints as module
from enginescope.runner.machine.machine_hints import machine_hints


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch):
    """Nothing of the machine that runs the tests shows."""
    monkeypatch.setattr(module, "steal_pct_since_boot", lambda: 0.0)
    monkeypatch.setattr(module, "quota_files", tuple)
    monkeypatch.setattr(module, "persistence_enabled", lambda _: None)
    monkeypatch.setattr(module, "is_left_behind", lambda _: False)


def codes(**host) -> list[str]:
    return [one.code for one in machine_hints(Environment(host=Host(**host)))]


def test_what_is_not_known_gives_no_hint_and_every_hint_has_a_command() -> None:
    assert codes() == []
    both = {"onnxruntime": "1.31.1", "onnxruntime-gpu": "1.31.1"}
    (hint,) = machine_hints(Environment(versions=both))
    assert hint.code == "H-TWO-ONNXRUNTIMES"
    assert machine_hints(Environment(versions={"onnxruntime": "1.31.1"})) == ()
    host = Host(governor="powersave", boost=True, smt=True, load_1min=3.0)
    found = machine_hints(Environment(host=host))
    assert len(found) == 4
    assert all(one.command for one in found)
    assert "load average is 3.0" in found[1].message


def test_of_the_processor() -> None:
    assert codes(governor="powersave") == ["H-GOVERNOR"]
    assert codes(boost=True) == ["H-BOOST"]
    assert codes(smt=True) == ["H-SMT"]
    assert codes(load_1min=1.7) == ["H-LOAD"]
    assert codes(governor="performance", boost=False, smt=False, load_1min=0.2) == []


def test_time_kept_back_by_the_hypervisor(monkeypatch) -> None:
    monkeypatch.setattr(module, "steal_pct_since_boot", lambda: 7.25)
    (hint,) = machine_hints(Environment())
    assert hint.code == "H-STEAL"
    assert "7.2 %" in hint.message
    monkeypatch.setattr(module, "steal_pct_since_boot", lambda: None)
    assert machine_hints(Environment()) == ()


def test_a_container_that_is_often_stopped(monkeypatch) -> None:
    monkeypatch.setattr(module, "quota_files", lambda: ("a", "b"))
    quotas = {"a": CpuQuota(1_000, 2, 1.0), "b": CpuQuota(200, 50, 9.0)}
    monkeypatch.setattr(module, "read_quota", quotas.get)
    (hint,) = machine_hints(Environment())
    assert hint.code == "H-CPU-QUOTA"
    assert "25 % of its periods" in hint.message


def test_of_a_gpu(monkeypatch) -> None:
    (free,) = machine_hints(Environment(devices=(Device(name="G", uuid="GPU-1"),)))
    assert (free.code, free.command) == ("H-CLOCKS", "enginescope bench --lock-clocks")
    lock = ClockLock(sm_mhz=1305, memory_mhz=3201)
    held = Environment(devices=(Device(name="G", uuid="GPU-1", clock_lock=lock),))
    assert machine_hints(held) == ()
    monkeypatch.setattr(module, "is_left_behind", lambda _: True)
    (left,) = machine_hints(held)
    assert left.code == "H-CLOCKS-LEFT"
    assert left.command == "sudo nvidia-smi -i GPU-1 -rgc && sudo nvidia-smi -i GPU-1 -rmc"
    monkeypatch.setattr(module, "persistence_enabled", lambda _: False)
    assert [one.code for one in machine_hints(held)] == ["H-CLOCKS-LEFT", "H-PERSISTENCE"]
