import fcntl
import multiprocessing
from pathlib import Path

import pytest

from enginescope.core.errors import StoreError
from enginescope.store.run_names import locked


def count_up(folder: Path, times: int) -> None:
    for _ in range(times):
        with locked(folder, "runs"):
            file = folder / "count"
            file.write_text(str(int(file.read_text()) + 1))


def test_one_process_at_a_time(tmp_path) -> None:
    (tmp_path / "count").write_text("0")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=count_up, args=(tmp_path, 50)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert (tmp_path / "count").read_text() == "150"


def test_it_is_let_go_after_an_error_and_locks_on_different_things_do_not_meet(tmp_path) -> None:
    with pytest.raises(ValueError, match="mine"), locked(tmp_path / "new", "runs"):
        raise ValueError("mine")
    with locked(tmp_path / "new", "runs"):
        pass
    both = tmp_path / "both"
    with locked(both, "runs"), locked(both, "index"):
        assert {one.name for one in both.iterdir()} == {".runs.lock", ".index.lock"}


def test_where_there_can_be_no_lock(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot lock"), locked(tmp_path / "file", "runs"):
        pass

    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StoreError, match="No locks available"), locked(tmp_path, "runs"):
        pass
