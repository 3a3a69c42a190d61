import fcntl
import multiprocessing
from pathlib import Path

import pytest

from enginescope.core.errors import StoreError
from enginescope.store.run_names import check_id, check_tag, is_id, is_tag, locked, steps_back


@pytest.mark.parametrize(
    ("is_name", "check", "kind", "names", "others"),
    [
        (
            *(is_id, check_id, "run id", ["7f3ac01944de", "a", "A-b_c.d"]),
            ["", ".", "..", ".hidden", "a/b", "a b", "a\n", "x" * 65],
        ),
        (
            *(is_tag, check_tag, "tag"),
            ["v1.2", "größer", "100%", "a-b", "lat", "x" * 128],
            ["", "latest", "latest~2", "a b", "a\tb", "a/b", "a\\b", "-a", "x" * 129],
        ),
    ],
    ids=["ids", "tags"],
)
def test_what_can_be_a_name(is_name, check, kind, names, others) -> None:
    for name in names:
        assert is_name(name), name
        check(name)
    for name in others:
        assert not is_name(name), name
        with pytest.raises(StoreError, match=kind):
            check(name)


def count_up(folder: Path, times: int) -> None:
    for _ in range(times):
        with locked(folder, "runs"):
            file = folder / "count"
            file.write_text(str(int(file.read_text()) + 1))


def test_steps_back() -> None:
    names = {"latest": 0, "latest~0": 0, "latest~12": 12, "latest~": None, "latest~x": None}
    assert {name: steps_back(name) for name in names} == names


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
