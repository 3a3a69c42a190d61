import random
import shutil
import sqlite3

import pytest

from enginescope.core.errors import StoreError
from enginescope.store import run_folder as scan_module
from enginescope.store.archive import Store
from enginescope.store.row import Filter
from enginescope.store.sql import database as index_module
from enginescope.store.sql import quick_rows as quick_module
from enginescope.store.sql.index_repair import RepairedIndex
from enginescope.store.sql.sqlite_file import FILE
from tests.store.stored_runs import DAMAGE, a_run


@pytest.fixture
def impatient(monkeypatch) -> None:
    monkeypatch.setattr(index_module, "BUSY_TIMEOUT_S", 0.05)
    monkeypatch.setattr(quick_module, "_BUSY_TIMEOUT_S", 0.05)


@pytest.fixture
def lock(store):
    """Another process that does not let go of the index."""
    store.save(a_run(id="aaa", at=1), tags=["kept"])
    other = sqlite3.connect(store.path / FILE, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    yield other
    other.close()


def ids(store: Store, **wanted: str) -> list[str]:
    return [row.id for row in store.rows(**wanted)]


def codes(store: Store) -> list[str]:
    return [one.code for one in store.notices]


@pytest.mark.parametrize("damage", ["missing", "empty", "garbage", "page", "table"])
def test_the_index_comes_back_by_itself(store, damage) -> None:
    store.save(a_run(id="aaa"), tags=["kept"])
    file = store.path / FILE
    if damage == "table":
        with sqlite3.connect(file) as connection:
            connection.execute("DROP TABLE tags")
        connection.close()
    elif damage == "page":
        file.write_bytes(file.read_bytes()[:4096] + bytes(20_000))
    else:
        file.unlink()
    if damage in ("empty", "garbage"):
        file.write_bytes(b"" if damage == "empty" else b"not a database" * 500)
    again = Store(store.path)
    assert [row.tags for row in again.rows()] == [("kept",)]
    kept = list(store.path.glob("index.damaged-*.sqlite"))
    assert len(kept) == (damage in ("garbage", "page", "table"))
    assert (codes(again), codes(Store(store.path))) == (["W-INDEX-DAMAGED"] * len(kept), [])


def test_a_save_over_a_damaged_index(store) -> None:
    store.save(a_run(id="aaa", at=1))
    (store.path / FILE).write_bytes(b"not a database" * 500)
    store.save(a_run(id="bbb", at=2))
    assert ids(store) == ["bbb", "aaa"]


def test_runs_that_came_and_went_by_hand(store, tmp_path) -> None:
    folder = store.save(a_run(id="aaa", at=1))
    other = Store(tmp_path / "other").save(a_run(id="bbb", at=2))
    shutil.copytree(other, store.runs_folder / "bbb")
    assert ids(store) == ["bbb", "aaa"]
    shutil.rmtree(folder)
    assert ids(store) == ["bbb"]
    shutil.rmtree(store.runs_folder)
    assert ids(store) == []
    assert store.notices == ()


def test_a_tag_given_while_the_run_is_taken_up_stays(store, monkeypatch) -> None:
    store.save(a_run(id="aaa"))
    (store.path / FILE).unlink()
    scan = scan_module.scan

    def scan_then_tag(*arguments):
        found = scan(*arguments)
        Store(store.path).tag("aaa", "new")
        return found

    monkeypatch.setattr(scan_module, "scan", scan_then_tag)
    store.rows()
    monkeypatch.undo()
    assert ids(store, tag="new") == ["aaa"]


@pytest.mark.usefixtures("impatient")
def test_a_locked_index_hides_nothing(store, lock) -> None:
    again = Store(store.path)
    again.save(a_run(id="bbb", at=2))
    assert codes(again) == ["W-INDEX"]
    again.tag("aaa", "new")
    assert ids(again) == ["bbb", "aaa"]  # from the folders
    assert (ids(again, tag="new"), again.load("latest").id) == (["aaa"], "bbb")
    lock.rollback()
    lock.close()
    later = Store(store.path)
    assert ids(later) == ["bbb", "aaa"]
    assert ids(later, tag="new") == ["aaa"]  # the change that had to wait
    assert later.notices == ()
    assert not (store.path / "index.stale").exists()


@pytest.mark.usefixtures("impatient", "lock")
def test_reindexing_replaces_an_index_that_nobody_lets_go_of(store) -> None:
    assert (Store(store.path).reindex().indexed, ids(Store(store.path))) == (1, ["aaa"])
    assert list(store.path.glob("index.damaged-*.sqlite"))


@pytest.mark.usefixtures("impatient", "lock")
def test_a_delete_while_the_index_is_locked(store) -> None:
    again = Store(store.path)
    assert (again.delete("kept"), ids(again)) == ("aaa", [])


def test_any_byte_of_the_index_may_change_and_any_end_be_cut_off(store) -> None:
    for number in range(3):
        store.save(a_run(id=f"a{number}", at=number), tags=["kept"])
    file = store.path / FILE
    whole, chance = file.read_bytes(), random.Random(36)
    expected = ["a2", "a1", "a0"]
    for trial in range(40):
        changed = bytearray(whole)
        if trial % 6:
            changed[chance.randrange(len(changed))] ^= chance.randrange(1, 256)
        else:
            del changed[chance.randrange(len(changed)) :]
        for old in store.path.glob("index*"):
            old.unlink()
        file.write_bytes(changed)
        again = Store(store.path)
        assert sorted(ids(again)) == sorted(expected)
        again.save(a_run(id="new", at=9), tags=["kept"])
        again.delete("new")
        assert Store(store.path).reindex().indexed == 3
        assert ids(Store(store.path), tag="kept") == expected


def test_a_schema_that_is_not_text_is_damage(store) -> None:
    store.save(a_run(id="aaa"), tags=["kept"])
    file = store.path / FILE
    data = bytearray(file.read_bytes())
    data[data.find(b"indexix_runs_cr") + 9] = 0x87
    file.write_bytes(data)
    again = Store(store.path)
    assert (ids(again), codes(again)) == (["aaa"], ["W-INDEX-DAMAGED"])
    assert codes(Store(store.path)) == []


def test_a_foreign_database_and_a_folder_in_the_place_of_the_index(store) -> None:
    store.save(a_run(id="aaa"))
    file = store.path / FILE
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE runs (name TEXT)")
    connection.close()
    assert ids(Store(store.path)) == ["aaa"]
    for left in store.path.glob("index.sqlite*"):
        left.unlink()
    file.mkdir()
    assert (Store(store.path).reindex().indexed, ids(Store(store.path))) == (1, ["aaa"])


def test_broken_runs_are_named_once_and_many_are_one_line(store) -> None:
    for count in (1, 5):
        for number in range(count):
            DAMAGE["half"](store.save(a_run(id=f"{count}{number}", at=number)))
        again = Store(store.path)
        again.reindex()
        assert ids(again) == ids(again) == []
        assert codes(again) == ["W-BROKEN-RUN"]
    assert "6 runs were skipped" in again.notices[0].message


def test_a_mark_that_cannot_be_made_loses_no_run(store, monkeypatch) -> None:
    store.save(a_run(id="aaa"))

    def refuse(*_, **__):
        raise StoreError("the index of runs", why="database is locked")

    (store.path / "index.stale").mkdir()  # touching it is fine, unlinking it is not
    monkeypatch.setattr(index_module.Index, "add", refuse)
    monkeypatch.setattr("pathlib.Path.touch", lambda _: (_ for _ in ()).throw(OSError))
    store.save(a_run(id="bbb"))
    assert sorted(one.name for one in store.runs_folder.iterdir()) == ["aaa", "bbb"]


def test_a_newer_index_is_passed_by_until_asked(store) -> None:
    store.save(a_run(id="aaa"))
    with sqlite3.connect(store.path / FILE) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    again = Store(store.path)
    assert ids(again) == ["aaa"]
    (notice,) = again.notices
    assert "9999" in notice.message
    assert not list(store.path.glob("*damaged*"))
    assert (again.reindex().indexed, codes(Store(store.path))) == (1, [])
    assert len(list(store.path.glob("index.damaged-*"))) == 1


def test_an_index_elsewhere(tmp_path) -> None:
    store = Store(tmp_path / "store", index_url=f"sqlite:///{tmp_path / 'team.db'}")
    store.save(a_run(id="aaa"))
    assert ids(store) == ["aaa"]
    assert not (tmp_path / "store" / FILE).exists()
    assert (tmp_path / "team.db").exists()
    assert RepairedIndex(tmp_path / "none").rows(Filter()) == ()
    assert not (tmp_path / "none").exists()
