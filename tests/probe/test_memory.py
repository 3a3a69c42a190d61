import subprocess
import sys

import psutil
import pytest

from enginescope.probe.host import TreeMemory, available_bytes, oom_kills, peak_rss_bytes


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
