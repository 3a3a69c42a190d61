import os
import re
import subprocess
import sys
import time
from pathlib import Path

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


def test_every_named_temporary_file_of_the_package_is_in_such_a_folder() -> None:
    """Files without a name go with their process; all others stay where a kill leaves them."""
    package = Path(module.__file__).parents[1]
    named = re.compile(r"mkdtemp|mkstemp|TemporaryDirectory|NamedTemporaryFile")
    found = {one.name for one in package.rglob("*.py") if named.search(one.read_text("utf-8"))}
    assert found == {"temporary_folder.py"}


def test_a_short_name_is_cleared_too(top) -> None:
    with temporary_folder(is_short=True) as folder:
        assert len(folder.name) < len("enginescope-work-")
    (top / f"{folder.name}-left").mkdir()
    module._SWEPT.clear()
    with temporary_folder():
        assert not (top / f"{folder.name}-left").exists()
