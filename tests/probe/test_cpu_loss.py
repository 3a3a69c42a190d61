import os

import pytest

from enginescope.probe import host
from enginescope.probe.host import (
    CpuLossMeter,
    CpuQuota,
    LoadMeter,
    quota_files,
    read_quota,
    steal_pct_since_boot,
)
from enginescope.probe.processes import others_among
from enginescope.records.run.telemetry import CpuLoss, GpuProcess

V2 = "usage_usec 9\nnr_periods {}\nnr_throttled {}\nthrottled_usec {}\n"
V1 = "nr_periods {}\nnr_throttled {}\nthrottled_time {}\n"


def groups(folder, line: str):
    own = folder / "own"
    own.write_text(line)
    return own


def meter_of(folder, own, monkeypatch, *times) -> CpuLossMeter:
    queue = list(times)
    monkeypatch.setattr(host, "_stolen_and_busy_s", lambda: queue.pop(0))
    return CpuLossMeter(folder, own)


def test_stolen_time_is_a_share_of_the_time_asked_for(tmp_path, monkeypatch) -> None:
    meter = meter_of(tmp_path, tmp_path / "none", monkeypatch, (1.0, 50.0), (1.5, 54.5))
    assert meter.loss() == CpuLoss(steal_pct=10.0)
    meter = meter_of(tmp_path, tmp_path / "none", monkeypatch, (1.0, 50.0), (1.0, 50.05))
    assert meter.loss() == CpuLoss()


@pytest.mark.parametrize(
    ("form", "unit", "line", "place"),
    [
        (V2, 1_000, "0::/a/b\n", "a/b/cpu.stat"),
        (V2, 1_000, "0::/\n", "cpu.stat"),
        (V1, 1_000_000, "3:cpuset:/x\n2:cpu,cpuacct:/a\n", "cpu/a/cpu.stat"),
    ],
)
def test_quotas_of_both_kinds_of_groups(tmp_path, monkeypatch, form, unit, line, place) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(form.format(100, 7, 30 * unit))
    meter = meter_of(tmp_path, groups(tmp_path, line), monkeypatch, (0.0, 0.0), (0.0, 9.0))
    file.write_text(form.format(140, 10, 280 * unit))
    expected = CpuLoss(steal_pct=0.0, throttled_periods=3, periods=40, throttled_ms=250.0)
    assert meter.loss() == expected


def test_the_level_that_was_stopped_most_counts(tmp_path, monkeypatch) -> None:
    inner, outer = tmp_path / "a" / "cpu.stat", tmp_path / "cpu.stat"
    inner.parent.mkdir()
    for file in (inner, outer):
        file.write_text(V2.format(0, 0, 0))
    own = groups(tmp_path, "0::/a\n")
    assert quota_files(tmp_path, own) == (inner, outer)
    meter = meter_of(tmp_path, own, monkeypatch, (0.0, 0.0), (0.0, 9.0))
    inner.write_text(V2.format(10, 1, 5_000))
    outer.write_text(V2.format(10, 4, 90_000))
    assert meter.loss().throttled_periods == 4


@pytest.mark.parametrize("text", ["usage_usec 9\n", "nr_periods x\n", "nr_periods\n", ""])
def test_a_group_without_a_quota(tmp_path, text) -> None:
    file = tmp_path / "cpu.stat"
    file.write_text(text)
    assert read_quota(file) is None


def test_a_group_that_is_gone(tmp_path) -> None:
    assert read_quota(tmp_path / "cpu.stat") is None
    assert quota_files(tmp_path, tmp_path / "none") == ()


def test_since_the_start_of_the_machine(monkeypatch) -> None:
    monkeypatch.setattr(host, "_stolen_and_busy_s", lambda: (25.0, 75.0))
    assert steal_pct_since_boot() == 25.0
    monkeypatch.setattr(host, "_stolen_and_busy_s", lambda: (0.0, 0.0))
    assert steal_pct_since_boot() is None


def test_real_readings() -> None:
    loss = CpuLossMeter().loss()
    assert loss.steal_pct is None or 0 <= loss.steal_pct <= 100
    assert read_quota is not None
    assert all(isinstance(read_quota(one), (CpuQuota, type(None))) for one in quota_files())


def readings(monkeypatch, *values: tuple[float, float, float]) -> LoadMeter:
    queue = list(values)
    monkeypatch.setattr(host, "_reading", lambda: queue.pop(0))
    return LoadMeter()


def test_own_work_is_not_other_load(monkeypatch) -> None:
    meter = readings(monkeypatch, (0.0, 100.0, 5.0), (10.0, 118.0, 15.0))
    assert meter.other_cores() == 0.8  # 18 s busy, 10 of them ours, over 10 s
    assert readings(monkeypatch, (0.0, 0.0, 0.0), (1.0, 0.9, 1.0)).other_cores() == 0.0
    assert readings(monkeypatch, (0.0, 0.0, 0.0), (0.05, 1.0, 0.0)).other_cores() is None


def test_real_readings_move() -> None:
    before = host._reading()
    sum(range(200_000))
    assert host._reading()[0] > before[0]


def process(pid: int) -> GpuProcess:
    return GpuProcess(pid=pid, name="x", memory_bytes=1)


@pytest.mark.parametrize(
    ("listed", "before", "others"),
    [
        ((0, 7, 8), (), (7, 8)),  # ours is among them: all others are others
        ((7, 8), (8, 9), (8,)),  # numbers as the host counts: only those from before are
        ((), (8,), ()),
    ],
)
def test_processes_that_are_not_ours(listed, before, others) -> None:
    found = others_among([process(pid or os.getpid()) for pid in listed], before)
    assert tuple(one.pid for one in found) == others
