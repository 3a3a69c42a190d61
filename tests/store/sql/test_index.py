import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

import enginescope
from enginescope.core.errors import StoreError
from enginescope.store.row import Filter, row_of
from enginescope.store.sql import database as module
from enginescope.store.sql import sqlite_file
from enginescope.store.sql.database import METADATA, RUNS, Index
from enginescope.store.sql.migrations import HEAD
from tests.store.stored_runs import a_run


@pytest.fixture
def index(tmp_path):
    made = Index.in_folder(tmp_path)
    made.prepare()
    yield made
    made.close()


def change(folder: Path, *statements: str) -> None:
    with sqlite3.connect(folder / sqlite_file.FILE) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("is_empty", [True, False])
def test_the_migrations_make_the_tables_of_the_schema(tmp_path, is_empty) -> None:
    """An empty database gets the tables at once, one with other tables by the migrations."""
    if not is_empty:
        change(tmp_path, "CREATE TABLE other (x)")
    index = Index.in_folder(tmp_path)
    index.prepare()
    assert index._database.version() == HEAD
    inspector = sa.inspect(index._database._engine)
    for table in METADATA.sorted_tables:
        made = {
            column["name"]: (str(column["type"]), column["nullable"], column["primary_key"] > 0)
            for column in inspector.get_columns(table.name)
        }
        wanted = {
            column.name: (str(column.type), column.nullable, column.primary_key)
            for column in table.columns
        }
        assert made == wanted
        assert {one.name for one in table.indexes} == {
            one["name"] for one in inspector.get_indexes(table.name)
        }


def test_head_is_the_newest_migration_and_no_database_is_damage(tmp_path) -> None:
    folder = Path(enginescope.__file__).parent / "store" / "sql" / "migrations" / "versions"
    assert max(path.name for path in folder.glob("[0-9]*.py")).startswith(HEAD)
    (tmp_path / sqlite_file.FILE).write_bytes(b"not a database" * 500)
    with pytest.raises(sqlite_file.DamagedIndexError, match="file is not a database"):
        Index.in_folder(tmp_path).prepare()
    (tmp_path / "folder" / sqlite_file.FILE).mkdir(parents=True)
    with pytest.raises(StoreError, match="the index of runs"):
        Index.in_folder(tmp_path / "folder").prepare()


def test_readers_go_on_while_one_writes_many_rows_with_tags(index, tmp_path) -> None:
    with sqlite3.connect(tmp_path / sqlite_file.FILE) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    index.put([row_of(a_run())])
    with index._database.write() as connection:
        connection.execute(RUNS.delete())
        assert len(index.rows()) == 1
    assert index.rows() == ()
    index.put(row_of(a_run(at=number, tags=(f"t{number}",))) for number in range(1200))
    rows = index.rows()
    assert len(rows) == 1200
    assert rows[0].tags == ("t1199",)
    assert all(len(row.tags) == 1 for row in rows)
    index.remove(row.id for row in rows[:1100])
    assert len(index.rows()) == 100


def test_preparing_twice_changes_nothing_and_a_newer_index_is_left_alone(
    index, monkeypatch, tmp_path
) -> None:
    index.put([row_of(a_run())])
    monkeypatch.setattr(module, "upgrade", None)  # and does not ask Alembic
    index.prepare()
    assert len(index.rows()) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == [".index.lock", sqlite_file.FILE]
    change(tmp_path, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(
        sqlite_file.NewerIndexError, match=f"version 9999, this enginescope knows up to {HEAD}"
    ):
        index.prepare()


def test_many_make_it_at_once(tmp_path) -> None:
    def make(_: int) -> None:
        mine = Index.in_folder(tmp_path)
        mine.prepare()
        mine.put([row_of(a_run())])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(8)))
    assert len(Index.in_folder(tmp_path).rows()) == 8


def test_a_row_replaces_the_row_of_its_id_or_none(index) -> None:
    index.put([row_of(a_run(id="one", tags=("a", "b")))])
    index.put([row_of(a_run("other.onnx", id="one", tags=("c",)))])
    (found,) = index.rows()
    assert (found.model, found.tags) == ("other.onnx", ("c",))
    assert index.ids() == {"one"}
    index.remove(["one", "none"])
    assert index.rows() == ()
    assert index.rows(Filter(tag="c")) == ()
    index.put([row_of(a_run(id="one", tags=("newer",)))])
    index.add([row_of(a_run(id="one")), row_of(a_run(id="two"))])
    assert {row.id: row.tags for row in index.rows()} == {"one": ("newer",), "two": ()}
    index.remove(["one", "two"])
    index.put([row_of(a_run(id="old", tags=("a",)))])

    def rows():
        yield row_of(a_run(id="new"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.replace(rows())
    assert index.ids() == {"old"}
    index.replace([row_of(a_run(id="new"))])
    assert [(row.id, row.tags) for row in index.rows()] == [("new", ())]


def test_any_folder_name_and_stray_logs_of_an_older_database(tmp_path) -> None:
    names = ["50%", "a b#c", "a%20b", "a?b"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{sqlite_file.FILE}-wal").write_bytes(
            os.urandom(4096)
        )  # it is not replayed
        index = Index.in_folder(tmp_path / name)
        index.prepare()
        index.put([row_of(a_run())])
        assert (tmp_path / name / sqlite_file.FILE).is_file()
        assert len(index.rows()) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == names


@pytest.mark.parametrize(
    ("statement", "act"),
    [
        ("DROP TABLE runs", "put"),
        ("DROP TABLE tags", "put"),
        ("ALTER TABLE runs DROP COLUMN gpu", "put"),
        ("DELETE FROM alembic_version", "prepare"),  # the tables are there already
        ("UPDATE alembic_version SET version_num = '0000x'", "prepare"),  # no such migration
    ],
)
def test_tables_changed_by_hand_are_damage(index, tmp_path, statement, act) -> None:
    change(tmp_path, statement)
    with pytest.raises(sqlite_file.DamagedIndexError):
        index.prepare() if act == "prepare" else index.put([row_of(a_run(tags=("a",)))])


def test_set_aside(index, tmp_path) -> None:
    index.set_aside()
    assert (tmp_path / sqlite_file.FILE).exists()  # sound: another process has mended it
    (tmp_path / sqlite_file.FILE).write_bytes(b"not a database" * 500)
    index.set_aside()
    assert not (tmp_path / sqlite_file.FILE).exists()
    assert len(list(tmp_path.glob("index.damaged-*.sqlite"))) == 1


def test_an_older_index_is_brought_up_empty(tmp_path, monkeypatch) -> None:
    change(
        tmp_path,
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)",
        "CREATE TABLE other (x)",
    )
    index = Index.in_folder(tmp_path)
    index.prepare()
    assert index.rows() == ()
    # the same again, as a later version will find the one of today
    index.put([row_of(a_run())])
    monkeypatch.setattr(module, "HEAD", "0002")
    index.prepare()
    assert index.rows() == ()


def test_a_locked_index_is_no_damage(index, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.05)
    other = Index.in_folder(tmp_path)
    with index._database.write(), pytest.raises(StoreError, match="locked") as caught:
        other.put([row_of(a_run())])
    assert not isinstance(caught.value, sqlite_file.DamagedIndexError)


def test_another_database_by_url(tmp_path, monkeypatch) -> None:
    index = Index(f"sqlite:///{tmp_path / 'other.db'}")
    index._database.file = None  # as for a server: no file to lock, make aside or move
    index.prepare()
    index.prepare()
    index.put([row_of(a_run(tags=("a",)))])
    index.set_aside()
    assert len(index.rows(Filter(tag="a"))) == 1


def test_a_database_moves_with_its_companions(tmp_path) -> None:
    file = tmp_path / "index.sqlite"
    assert not sqlite_file.is_there(file)
    file.touch()
    assert not sqlite_file.is_there(file)
    file.write_bytes(b"x")
    assert sqlite_file.is_there(file)
    for one in (file, sqlite_file.companions(file)[1]):
        one.write_text(one.name)
    target = sqlite_file.move_away(file)
    assert target.name.startswith("index.damaged-")
    assert target.read_text() == "index.sqlite"
    assert sqlite_file.companions(target)[1].read_text() == "index.sqlite-wal"
    assert not file.exists()
    assert not sqlite_file.companions(target)[0].exists()
    with pytest.raises(StoreError, match="cannot be set aside"):
        sqlite_file.move_away(tmp_path / "none")
