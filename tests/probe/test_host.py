import os
import subprocess
import sys

import psutil
import pytest

from enginescope.core.errors import UsageError
from enginescope.core.units import parse_ranges
from enginescope.probe import host
from enginescope.probe.processes import others_among
from enginescope.records.run.telemetry import CpuLoss, GpuProcess


def test_this_machine_is_described_and_its_cpu_from_cpuinfo(tmp_path) -> None:
    found = host.probe_host()
    assert (found.cores_usable or 0) >= 1
    assert (found.memory_bytes or 0) > 1 << 28
    file = tmp_path / "cpuinfo"
    file.write_text("processor : 0\nmodel name\t: Example 9000 @ 3.00GHz\n")
    assert host.cpu_model(file) == "Example 9000 @ 3.00GHz"


def test_limits_of_a_container(tmp_path) -> None:
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    assert host.usable_cores(tmp_path) == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert host.usable_cores(tmp_path) == host.usable_cores(tmp_path / "absent")
    (tmp_path / "memory.max").write_text("1048576\n")
    assert host.usable_memory_bytes(tmp_path) == 1 << 20
    (tmp_path / "memory.max").write_text("max\n")
    assert host.usable_memory_bytes(tmp_path) > 1 << 20


def test_container_kind(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("container", raising=False)
    assert host.container_kind(tmp_path) is None
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.containerenv").touch()
    assert host.container_kind(tmp_path) == "podman"
    (tmp_path / ".dockerenv").touch()
    assert host.container_kind(tmp_path) == "docker"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert host.container_kind(tmp_path) == "kubernetes"


def test_peak_is_at_least_what_is_resident_now(tmp_path) -> None:
    peak = host.peak_rss_bytes()
    assert peak is not None
    assert peak >= 0.9 * psutil.Process().memory_info().rss
    (tmp_path / "status").write_text("Name:\tpython\nVmHWM:\t    2180 kB\nVmRSS:\t 9 kB\n")
    assert host.peak_rss_bytes(tmp_path / "status") == 2180 * 1024
    assert host.peak_rss_bytes(tmp_path / "absent") == pytest.approx(host.peak_rss_bytes(), rel=0.9)


def test_tree_counts_children() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'], check=False)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as parent:
        handle = psutil.Process(parent.pid)
        while not handle.children():
            pass
        tree = host.TreeMemory(parent.pid)
        total = tree.rss_bytes()
        own = handle.memory_info().rss
        assert total is not None
        assert total > own
        parent.communicate(b"\n")
    assert tree.rss_bytes() is None
    tree._listed -= 10
    assert tree.rss_bytes() is None


def test_container_limit_counts_without_files_in_memory(tmp_path) -> None:
    (tmp_path / "memory.max").write_text("5000000\n")
    (tmp_path / "memory.current").write_text("4000000\n")
    assert host.available_bytes(tmp_path) == 1_000_000
    assert host.available_bytes(tmp_path / "absent") > 1_000_000
    (tmp_path / "memory.current").write_text("4900000\n")
    (tmp_path / "memory.stat").write_text(
        "anon 900000\ninactive_file 3000000\nactive_file 900000\n"
    )
    assert host.available_bytes(tmp_path) == 4_000_000
    (tmp_path / "memory.current").write_text("9900000\n")
    assert host.available_bytes(tmp_path) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="others do not hand a peak down")
def test_a_child_does_not_inherit_a_peak() -> None:
    code = "from enginescope.probe.host import peak_rss_bytes; print(peak_rss_bytes())"
    ballast = bytearray(200 << 20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert int(ended.stdout) < len(ballast)


def test_oom_kills(tmp_path) -> None:
    assert host.oom_kills(tmp_path, tmp_path / "vmstat") is None
    (tmp_path / "vmstat").write_text("nr_free_pages 7\noom_kill 5\n")
    assert host.oom_kills(tmp_path, tmp_path / "vmstat") == 5
    (tmp_path / "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
    assert host.oom_kills(tmp_path, tmp_path / "vmstat") == 2


def test_ranges_are_read_and_written() -> None:
    read = {text: parse_ranges(text) for text in ("0", "0,1", "4,0-2", "1-1")}
    assert read == {"0": (0,), "0,1": (0, 1), "4,0-2": (0, 1, 2, 4), "1-1": (1,)}
    with pytest.raises(ValueError, match="3 - 4"):
        parse_ranges(" 3 - 4 , 3")
    assert host.ranges_text([0]) == "0"
    assert host.ranges_text([1, 0]) == "0, 1"
    assert host.ranges_text([0, 1, 2, 5, 7, 8]) == "0…2, 5, 7, 8"


@pytest.mark.parametrize("text", ["", "a", "1,", "-1", "2-1", "0-", "1.5", "0-99999999"])
def test_what_is_no_range(text) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the caller has the message
        parse_ranges(text)


def test_the_usable_ones_are_named(monkeypatch) -> None:
    monkeypatch.setattr(host, "usable_processors", lambda: (0, 1, 2, 3))
    host.check_pinning([0, 3])
    with pytest.raises(UsageError) as caught:
        host.check_pinning([0, 9, 4])
    assert caught.value.what == "`pinned_cores`: no cores 4, 9 to use here"
    assert caught.value.hint == "usable: 0…3"
    monkeypatch.setattr(host, "usable_processors", lambda: None)
    with pytest.raises(UsageError, match="pins no process"):
        host.check_pinning([0])


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins no process")
def test_children_are_pinned_and_this_process_is_not() -> None:
    before = os.sched_getaffinity(0)
    one = max(before)
    with host.children_pinned_to((one,)):
        told = subprocess.run(
            [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"],
            capture_output=True,
            text=True,
            check=True,
        )
    assert told.stdout.strip() == f"{{{one}}}"
    assert os.sched_getaffinity(0) == before
    with host.children_pinned_to(()):
        assert os.sched_getaffinity(0) == before


def test_threads_of_one_core(tmp_path) -> None:
    for processor, text in enumerate(("0,2", "1,3", "0,2", "1,3")):
        place = tmp_path / f"cpu{processor}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(f"{text}\n")
    assert host.siblings(0, tmp_path) == (0, 2)
    assert host.shared_cores((0, 1), tmp_path) == ()
    assert host.shared_cores((0, 1, 2), tmp_path) == ((0, 2),)
    assert host.shared_cores((0, 1, 2, 3), tmp_path) == ((0, 2), (1, 3))
    assert host.siblings(0, tmp_path / "none") == ()
    assert host.shared_cores((0, 1), tmp_path / "none") == ()


V2 = "usage_usec 9\nnr_periods {}\nnr_throttled {}\nthrottled_usec {}\n"
V1 = "nr_periods {}\nnr_throttled {}\nthrottled_time {}\n"


@pytest.fixture
def meter_of(tmp_path, monkeypatch):
    """A meter of this test's control groups, with the times of its readings."""

    def made(*times: tuple[float, float], group: str = "") -> host.CpuLossMeter:
        queue = list(times)
        monkeypatch.setattr(host, "_stolen_and_busy_s", lambda: queue.pop(0))
        (tmp_path / "own").write_text(group)
        return host.CpuLossMeter(tmp_path, tmp_path / "own")

    return made


def test_stolen_time_is_a_share_of_the_time_asked_for(meter_of) -> None:
    assert meter_of((1.0, 50.0), (1.5, 54.5)).loss() == CpuLoss(steal_pct=10.0)
    assert meter_of((1.0, 50.0), (1.0, 50.05)).loss() == CpuLoss()


@pytest.mark.parametrize(
    ("form", "unit", "line", "place"),
    [
        (V2, 1_000, "0::/a/b\n", "a/b/cpu.stat"),
        (V2, 1_000, "0::/\n", "cpu.stat"),
        (V1, 1_000_000, "3:cpuset:/x\n2:cpu,cpuacct:/a\n", "cpu/a/cpu.stat"),
    ],
)
def test_quotas_of_both_kinds_of_groups(tmp_path, meter_of, form, unit, line, place) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(form.format(100, 7, 30 * unit))
    meter = meter_of((0.0, 0.0), (0.0, 9.0), group=line)
    file.write_text(form.format(140, 10, 280 * unit))
    expected = CpuLoss(steal_pct=0.0, throttled_periods=3, periods=40, throttled_ms=250.0)
    assert meter.loss() == expected


def test_the_level_that_was_stopped_most_counts(tmp_path, meter_of) -> None:
    inner, outer = tmp_path / "a" / "cpu.stat", tmp_path / "cpu.stat"
    inner.parent.mkdir()
    for file in (inner, outer):
        file.write_text(V2.format(0, 0, 0))
    meter = meter_of((0.0, 0.0), (0.0, 9.0), group="0::/a\n")
    assert host.quota_files(tmp_path, tmp_path / "own") == (inner, outer)
    inner.write_text(V2.format(10, 1, 5_000))
    outer.write_text(V2.format(10, 4, 90_000))
    assert meter.loss().throttled_periods == 4


def test_a_group_without_a_quota_or_that_is_gone(tmp_path) -> None:
    file = tmp_path / "cpu.stat"
    for text in ("usage_usec 9\n", "nr_periods x\n", "nr_periods\n", ""):
        file.write_text(text)
        assert host.read_quota(file) is None, text
    file.unlink()
    assert host.read_quota(file) is None
    assert host.quota_files(tmp_path, tmp_path / "none") == ()


def test_steal_since_the_start_of_the_machine(monkeypatch) -> None:
    monkeypatch.setattr(host, "_stolen_and_busy_s", lambda: (25.0, 75.0))
    assert host.steal_pct_since_boot() == 25.0
    monkeypatch.setattr(host, "_stolen_and_busy_s", lambda: (0.0, 0.0))
    assert host.steal_pct_since_boot() is None


def test_real_readings() -> None:
    loss = host.CpuLossMeter().loss()
    assert loss.steal_pct is None or 0 <= loss.steal_pct <= 100
    kinds = (host.CpuQuota, type(None))
    assert all(isinstance(host.read_quota(one), kinds) for one in host.quota_files())
    before = host._reading()
    sum(range(200_000))
    assert host._reading()[0] > before[0]


@pytest.mark.parametrize(
    ("readings", "cores"),
    [
        ([(0.0, 100.0, 5.0), (10.0, 118.0, 15.0)], 0.8),  # 18 s busy, 10 of them ours, over 10 s
        ([(0.0, 0.0, 0.0), (1.0, 0.9, 1.0)], 0.0),
        ([(0.0, 0.0, 0.0), (0.05, 1.0, 0.0)], None),
    ],
)
def test_own_work_is_not_other_load(monkeypatch, readings, cores) -> None:
    monkeypatch.setattr(host, "_reading", lambda: readings.pop(0))
    assert host.LoadMeter().other_cores() == cores


@pytest.mark.parametrize(
    ("listed", "before", "others"),
    [
        ((0, 7, 8), (), (7, 8)),  # ours is among them: all others are others
        ((7, 8), (8, 9), (8,)),  # numbers as the host counts: only those from before are
        ((), (8,), ()),
    ],
)
def test_processes_that_are_not_ours(listed, before, others) -> None:
    pids = [pid or os.getpid() for pid in listed]
    found = others_among([GpuProcess(pid=pid, name="x", memory_bytes=1) for pid in pids], before)
    assert tuple(one.pid for one in found) == others
