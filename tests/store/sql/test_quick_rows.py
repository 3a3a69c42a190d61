import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.store.row import Filter, row_of
from enginescope.store.sql.database import Index
from enginescope.store.sql.quick_rows import quick_add, quick_rows
from enginescope.store.sql.sqlite_file import FILE
from tests.store.stored_runs import a_run
from tests.store.test_row import FILTER, ROW


@settings(max_examples=40, deadline=None)
@given(st.lists(ROW, unique_by=lambda row: row.id, max_size=12), st.lists(FILTER, max_size=6))
def test_the_same_rows(rows, filters) -> None:
    with tempfile.TemporaryDirectory() as place:
        index = Index.in_folder(Path(place))
        index.prepare()
        index.put(rows)
        names = {row.id for row in rows}
        for wanted in (Filter(), *filters):
            found = quick_rows(Path(place) / FILE, names, wanted)
            assert found == index.rows(wanted), msgspec.to_builtins(wanted)


@settings(max_examples=20, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=6))
def test_the_same_is_added(rows) -> None:
    """Also where a row of the same id is there already: it stays."""
    with tempfile.TemporaryDirectory() as place:
        listed = []
        for name in ("quick", "usual"):
            folder = Path(place) / name
            folder.mkdir()
            index = Index.in_folder(folder)
            index.prepare()
            for row in rows:
                if name == "usual":
                    index.add([row])
                else:
                    assert quick_add(folder / FILE, row)
            listed.append(index.rows())
        assert listed[0] == listed[1]


@pytest.fixture
def file(tmp_path) -> Path:
    index = Index.in_folder(tmp_path)
    index.prepare()
    index.put([row_of(a_run(id="one"))])
    index.close()
    return tmp_path / FILE


def test_an_index_that_is_behind(file) -> None:
    assert quick_rows(file, {"one"}, Filter()) is not None
    assert quick_rows(file, {"one", "two"}, Filter()) is None
    assert quick_rows(file, {"two"}, Filter()) is None
    assert quick_rows(file, set(), Filter()) is None


def test_no_index(tmp_path) -> None:
    assert quick_rows(tmp_path / FILE, {"one"}, Filter()) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "statement",
    ["DROP TABLE tags", "UPDATE alembic_version SET version_num = '0000'", "DROP TABLE runs"],
)
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


def test_a_listing_loads_nothing_heavy(store) -> None:
    store.save(a_run(), tags=["a"])
    store.rows()
    code = (
        "import sys\n"
        "from enginescope.cli.main import main\n"
        f"assert main(['runs', '--store', {str(store.path)!r}]) == 0\n"
        "heavy = {'numpy', 'sqlalchemy', 'alembic', 'onnx', 'onnxruntime'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "m.onnx" in ended.stdout
