from __future__ import annotations

import subprocess
import sys

import psutil

from enginescope.probe.memory import TreeMemory, available_bytes, oom_kills, peak_rss_bytes


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


def test_container_limit_counts(tmp_path) -> None:
    (tmp_path / "memory.max").write_text("5000000\n")
    (tmp_path / "memory.current").write_text("4000000\n")
    assert available_bytes(tmp_path) == 1_000_000
    assert available_bytes(tmp_path / "absent") > 1_000_000


def test_oom_kills(tmp_path) -> None:
    assert oom_kills(tmp_path) is None
    (tmp_path / "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
    assert oom_kills(tmp_path) == 2
