import os
import subprocess
import sys

import pytest

from enginescope.core.errors import FormatError, StoreError
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS
from enginescope.store.server_tokens import ServerTokens
from enginescope.store.suite_folder import SuiteFolder
from tests.store.stored_runs import a_run


@pytest.mark.parametrize("name", ["run.json", "arrays/000.npy"])
def test_a_pipe_in_place_of_a_file_hangs_no_listing(tmp_path, name) -> None:
    store = Store(tmp_path)
    store.save(a_run(id="good"))
    folder = store.save(a_run(id="piped"))
    (folder / name).unlink()
    os.mkfifo(folder / name)
    (tmp_path / "index.sqlite").unlink()
    command = [sys.executable, "-m", "enginescope", "runs", "--store", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "good" in done.stdout
    assert "piped was skipped" in done.stderr
    with pytest.raises(FormatError, match=r"is not a file|a pipe or a device"):
        store.load_id("piped")


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("noise-floors.json", FLOORS.read),
        ("suites/nightly/suite.json", lambda top: SuiteFolder(top / "suites/nightly").plan()),
        ("server/tokens.json", lambda top: ServerTokens(top).all()),
    ],
)
def test_a_pipe_in_place_of_another_file_of_the_store_is_an_error(tmp_path, name, read) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(FormatError, match="a pipe or a device"):
        read(tmp_path)


def test_no_run_is_called_latest(tmp_path) -> None:
    store = Store(tmp_path)
    with pytest.raises(StoreError, match="not latest"):
        store.save(a_run(id="latest"))
    store.save(a_run(id="latest2"))
    packed = store.export("latest2", tmp_path / "one.zip")
    assert Store(tmp_path / "other").import_zip(packed).id == "latest2"
    assert store.load("latest").id == "latest2"
