import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.store.row import Filter, row_of
from enginescope.store.sql.database import Index
from enginescope.store.sql.quick_rows import quick_add, quick_rows
from enginescope.store.sql.sqlite_file import FILE
from tests.store.stored_runs import a_run
from tests.store.test_row import ROW


@pytest.fixture(scope="module")
def indexes(tmp_path_factory) -> list[Index]:
    made = [Index.in_folder(tmp_path_factory.mktemp(name)) for name in ("quick", "usual")]
    for index in made:
        index.prepare()
    return made


@settings(max_examples=20, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=6))
def test_the_same_is_added(indexes, rows) -> None:
    """Also where a row of the same id is there already: it stays."""
    quick, usual = indexes
    for index in indexes:
        index.replace([])
    for row in rows:
        usual.add([row])
        assert quick_add(quick._database.file, row)
    assert quick.rows() == usual.rows()


@pytest.fixture
def file(tmp_path) -> Path:
    index = Index.in_folder(tmp_path)
    index.prepare()
    index.put([row_of(a_run(id="one"))])
    index.close()
    return tmp_path / FILE


def test_an_index_that_is_behind_or_not_there(file, tmp_path) -> None:
    assert quick_rows(file, {"one"}, Filter()) is not None
    for names in ({"one", "two"}, {"two"}, set()):
        assert quick_rows(file, names, Filter()) is None
    (tmp_path / "empty").mkdir()
    assert quick_rows(tmp_path / "empty" / FILE, {"one"}, Filter()) is None
    assert list((tmp_path / "empty").iterdir()) == []


#: Each makes a database one of another form.
STATEMENTS = (
    "DROP TABLE tags",
    "UPDATE alembic_version SET version_num = '0000'",
    "DROP TABLE runs",
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_an_index_of_another_form(file, statement) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(statement)
    connection.close()
    assert not quick_add(file, row_of(a_run(id="two", tags=("mine",))))
    assert quick_rows(file, {"one"}, Filter()) is None


def test_a_connection_to_a_damaged_index_is_closed(tmp_path, monkeypatch) -> None:
    opened = []
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *a, **k: opened.append(connect(*a, **k)) or opened[-1]
    )
    (tmp_path / FILE).write_bytes(b"not a database" * 500)
    assert not quick_add(tmp_path / FILE, row_of(a_run(id="one")))
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")
