import subprocess
import sys

import psutil
import pytest

from enginescope.probe.host import (
    TreeMemory,
    available_bytes,
    container_kind,
    cpu_model,
    oom_kills,
    peak_rss_bytes,
    probe_host,
    usable_cores,
    usable_memory_bytes,
)


def test_this_machine_is_described() -> None:
    host = probe_host()
    assert host.cores_usable is not None
    assert host.cores_usable >= 1
    assert host.memory_bytes is not None
    assert host.memory_bytes > 1 << 28


def test_cpu_model_from_cpuinfo(tmp_path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor : 0\nmodel name\t: Example 9000 @ 3.00GHz\n")
    assert cpu_model(file) == "Example 9000 @ 3.00GHz"


def test_limits_of_a_container(tmp_path) -> None:
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    assert usable_cores(tmp_path) == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert usable_cores(tmp_path) == usable_cores(tmp_path / "absent")
    (tmp_path / "memory.max").write_text("1048576\n")
    assert usable_memory_bytes(tmp_path) == 1 << 20
    (tmp_path / "memory.max").write_text("max\n")
    assert usable_memory_bytes(tmp_path) > 1 << 20


def test_container_kind(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("container", raising=False)
    assert container_kind(tmp_path) is None
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.containerenv").touch()
    assert container_kind(tmp_path) == "podman"
    (tmp_path / ".dockerenv").touch()
    assert container_kind(tmp_path) == "docker"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert container_kind(tmp_path) == "kubernetes"


def test_peak_is_at_least_what_is_resident_now() -> None:
    peak = peak_rss_bytes()
    assert peak is not None
    assert peak >= 0.9 * psutil.Process().memory_info().rss


def test_tree_counts_children() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'], check=False)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as parent:
        handle = psutil.Process(parent.pid)
        while not handle.children():
            pass
        tree = TreeMemory(parent.pid)
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
    assert available_bytes(tmp_path) == 1_000_000
    assert available_bytes(tmp_path / "absent") > 1_000_000
    (tmp_path / "memory.current").write_text("4900000\n")
    (tmp_path / "memory.stat").write_text(
        "anon 900000\ninactive_file 3000000\nactive_file 900000\n"
    )
    assert available_bytes(tmp_path) == 4_000_000
    (tmp_path / "memory.current").write_text("9900000\n")
    assert available_bytes(tmp_path) == 0


def test_a_peak_without_the_parents(tmp_path) -> None:
    (tmp_path / "status").write_text("Name:\tpython\nVmHWM:\t    2180 kB\nVmRSS:\t 9 kB\n")
    assert peak_rss_bytes(tmp_path / "status") == 2180 * 1024
    assert peak_rss_bytes(tmp_path / "absent") == pytest.approx(peak_rss_bytes(), rel=0.9)


@pytest.mark.skipif(sys.platform != "linux", reason="others do not hand a peak down")
def test_a_child_does_not_inherit_a_peak() -> None:
    code = "from enginescope.probe.host import peak_rss_bytes; print(peak_rss_bytes())"
    ballast = bytearray(400 << 20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert int(ended.stdout) < len(ballast)


def test_oom_kills(tmp_path) -> None:
    assert oom_kills(tmp_path, tmp_path / "vmstat") is None
    (tmp_path / "vmstat").write_text("nr_free_pages 7\noom_kill 5\n")
    assert oom_kills(tmp_path, tmp_path / "vmstat") == 5
    (tmp_path / "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
    assert oom_kills(tmp_path, tmp_path / "vmstat") == 2
