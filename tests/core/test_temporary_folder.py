"""Temporary folders go with their process, also where it was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from enginescope.core import temporary_folder as module
from enginescope.core.temporary_folder import temporary_folder

HOLD = """
import sys, time
from enginescope.core.temporary_folder import temporary_folder
with temporary_folder() as folder:
    (folder / "large").write_text("x")
    print(folder, flush=True)
    time.sleep(120)
"""


@pytest.fixture
def top(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(module, "_SWEPT", set())
    monkeypatch.setattr(module, "_FRESH_S", 0.0)
    return tmp_path


def test_the_next_start_removes_what_a_kill_has_left(top) -> None:
    killed, alive = (
        subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    )
    try:
        left, used = (one.stdout.readline().strip() for one in (killed, alive))
        killed.kill()
        killed.wait()
        (top / "enginescope-other").mkdir()
        (top / "enginescope-work-link").symlink_to(top / "enginescope-other")
        assert os.path.exists(f"{left}/large")  # noqa: PTH110
        time.sleep(0.05)
        with temporary_folder() as own:
            names = {one.name for one in top.iterdir()}
        assert left.rpartition("/")[2] not in names
        assert {used.rpartition("/")[2], own.name, "enginescope-other"} <= names
        assert not own.exists()
    finally:
        for one in (killed, alive):
            one.kill()
            one.communicate()


def test_a_fresh_folder_is_left_alone(top, monkeypatch) -> None:
    monkeypatch.setattr(module, "_FRESH_S", 60.0)
    (top / "enginescope-work-new").mkdir()
    with temporary_folder():
        assert (top / "enginescope-work-new").exists()
