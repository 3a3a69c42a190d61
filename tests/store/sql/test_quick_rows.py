import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.core.errors import StoreError
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from enginescope.store.row import Filter, row_of
from enginescope.store.sql.database import Index
from enginescope.store.sql.quick_rows import quick_add, quick_database_rows, quick_rows
from enginescope.store.sql.sqlite_file import FILE
from tests.store.conftest import PLACES
from tests.store.postgresql import PASSWORD
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


DATABASES = pytest.mark.parametrize("place", PLACES[1:], indirect=True)


@pytest.fixture
def url(place) -> DatabaseUrl:
    Store(place).save(a_run(id="a1", at=1), tags=["main", "b"])
    Store(place).save(a_run("other.onnx", id="a2", at=2))
    return place


@DATABASES
def test_the_same_rows_of_a_database(url) -> None:
    for wanted in (Filter(), Filter(tag="main"), Filter(model="OTHER"), Filter(limit=1, offset=1)):
        found = quick_database_rows(url, wanted)
        store = Store(url)
        assert store.has("a1")  # so that it is not asked quickly
        assert found == store.select(wanted)
    found = quick_database_rows(url, Filter(tag="b"))
    assert found[0].tags == ("b", "main")


@DATABASES
@pytest.mark.parametrize("statement", STATEMENTS)
def test_tables_of_another_form_are_left_to_others(url, statement) -> None:
    engine = sa.create_engine(url.secret_url)
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()
    assert quick_database_rows(url, Filter()) is None


def test_a_listing_loads_nothing_heavy(place) -> None:
    store = Store(place)
    store.save(a_run(), tags=["a"])
    store.rows()
    code = (
        "import sys\n"
        "from enginescope.cli.main import main\n"
        f"assert main(['runs', '--store', {getattr(place, 'secret_url', str(place))!r}]) == 0\n"
        "heavy = {'numpy', 'sqlalchemy', 'alembic', 'onnx', 'onnxruntime'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "m.onnx" in ended.stdout


def test_what_is_not_the_usual_is_left_to_others() -> None:
    for text in (
        "postgresql+psycopg://u@h/d?sslmode=require",
        "postgresql+psycopg://u@one,two/d",
        "postgresql+psycopg://u@%2Frun%2Fpg/d",
        "postgresql+psycopg://u@[::1]/d",
        "postgresql+psycopg://u@h:port/d",
        "sqlite:////none/team.db",
        "sqlite:////none/team.db?timeout=1",
    ):
        assert quick_database_rows(DatabaseUrl(text), Filter()) is None


def test_an_empty_file_is_made_by_nobody_who_asks(tmp_path, monkeypatch) -> None:
    assert quick_database_rows(DatabaseUrl(f"sqlite:///{tmp_path / 'x.db'}"), Filter()) is None
    assert list(tmp_path.iterdir()) == []
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError, match=r"the store postgresql\+psycopg://u@127.0.0.1:9/d: "):
        Store(DatabaseUrl("postgresql://u@127.0.0.1:9/d")).rows()
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert quick_database_rows(DatabaseUrl("postgresql://u@127.0.0.1:9/d"), Filter()) is None


@pytest.mark.database
def test_a_server_that_lets_nobody_in_is_asked_once(postgresql) -> None:
    wrong = DatabaseUrl(postgresql.url("postgres", password=f"not-{PASSWORD}"))
    with pytest.raises(StoreError, match="password authentication failed") as caught:
        quick_database_rows(wrong, Filter())
    assert caught.value.what == f"the store {wrong}"
    assert PASSWORD not in str(caught.value)


@pytest.mark.database
def test_signs_in_a_password(postgresql) -> None:
    """They are escaped in a URL."""
    import psycopg

    own = postgresql.fresh_url()
    name = own.rpartition("/")[2]
    with psycopg.connect(own.replace("+psycopg", ""), autocommit=True) as opened:
        opened.execute(f"CREATE ROLE \"{name} %\" LOGIN PASSWORD 'a b@/:%+'")
        opened.execute(f'GRANT ALL ON SCHEMA public TO "{name} %"')
    url = DatabaseUrl(
        f"postgresql://{name}%20%25:a%20b%40%2F%3A%25+@127.0.0.1:{postgresql.port}/{name}"
    )
    Store(url).save(a_run(id="a1"))
    found = quick_database_rows(url, Filter())
    assert found is not None
    assert [one.id for one in found] == ["a1"]
