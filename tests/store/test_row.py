import math
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import get_args

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.core.errors import StoreError
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Device, Environment, Host
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from enginescope.store.row import Filter, RunOrder, RunRow, row_of, select
from enginescope.store.sql.database import Index
from enginescope.store.sql.quick_rows import quick_add, quick_database_rows, quick_rows
from enginescope.store.sql.sqlite_file import FILE
from tests.store.conftest import PLACES
from tests.store.postgresql import PASSWORD
from tests.store.stored_runs import a_run


def test_a_row_has_what_is_known() -> None:
    run = a_run(
        job=Job(
            subject=Subject(name="m.onnx", sha256="ab"),
            backend=BackendSpec(name="ort-cpu", precision="fp16", options={"x": "1"}),
        ),
        environment=Environment(
            host=Host(name="box", cpu_model="CPU"), devices=(Device(name="H200"),)
        ),
        tags=("b", "a"),
    )
    row = row_of(run, size_bytes=7)
    assert (row.backend, row.precision, row.model_sha256) == ("ort-cpu:fp16?x=1", "fp16", "ab")
    assert (row.metric, row.samples, row.median_ms) == ("latency", 11, 1.5)
    assert (row.host, row.cpu, row.gpu, row.size_bytes) == ("box", "CPU", "H200", 7)
    assert row.tags == ("a", "b")
    row = row_of(a_run(samples=()))
    assert (row.metric, row.samples, row.median_ms, row.gpu) == (None, None, None, None)
    unknown = Samples(metric="latency", values_ms=frozen([math.nan, 1.0]))
    assert row_of(a_run(samples=(unknown,))).median_ms is None


NAME = st.sampled_from(["resnet18.onnx", "ResNet50.onnx", "100%_a.onnx", "b_c.onnx"])
ROW = st.builds(
    RunRow,
    id=st.from_regex(r"[0-9a-f]{1,3}", fullmatch=True),
    created=st.sampled_from([f"2026-01-0{day}T23:59:59.9Z" for day in (1, 2, 3)]),
    origin=st.just("measured"),
    model=NAME,
    backend=st.sampled_from(["ort-cpu", "ort-cuda:fp16", "trt:fp16"]),
    outcome=st.sampled_from(["ok", "crashed"]),
    median_ms=st.none() | st.sampled_from([0.5, 2.0, 10.0]),
    tags=st.lists(st.sampled_from("abc"), unique=True).map(sorted).map(tuple),
)
FILTER = st.builds(
    Filter,
    tag=st.none() | st.sampled_from("abc"),
    model=st.none() | st.sampled_from(["resnet", "%", "_", "RESNET18", "onnx"]),
    backend=st.none() | st.sampled_from(["ort", "ORT-CUDA", "trt:fp16", "%"]),
    outcome=st.none() | st.sampled_from(["ok", "crashed", "o"]),
    since=st.none() | st.sampled_from(["2026-01-02", "2026-01-03"]),
    until=st.none() | st.sampled_from(["2026-01-01", "2026-01-02"]),
    order=st.sampled_from(get_args(RunOrder)),
    limit=st.none() | st.integers(1, 4),
)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory) -> list[Index]:
    made = [Index.in_folder(tmp_path_factory.mktemp(name)) for name in ("quick", "usual")]
    for index in made:
        index.prepare()
    return made


@settings(max_examples=40, deadline=None)
@given(st.lists(ROW, unique_by=lambda row: row.id, max_size=12), st.lists(FILTER, max_size=6))
def test_the_index_its_quick_reader_and_the_folders_answer_alike(indexes, rows, filters) -> None:
    index = indexes[0]
    index.replace(rows)
    names = {row.id for row in rows}
    for wanted in (Filter(), *filters):
        expected = select(rows, wanted)
        assert index.rows(wanted) == expected, msgspec.to_builtins(wanted)
        found = quick_rows(index._database.file, names, wanted)
        assert found == expected, msgspec.to_builtins(wanted)


def test_a_day_holds_all_its_moments_and_unknown_medians_come_last() -> None:
    rows = [
        replace(row_of(a_run(id=f"r{at}", samples=())), created=created, median_ms=median)
        for at, (created, median) in enumerate(
            [
                ("2026-01-01T23:59:59Z", 3.0),
                ("2026-01-02T00:00:00Z", None),
                ("2026-01-03T00:00:00Z", 1.0),
            ]
        )
    ]

    def ids(**wanted) -> list[str]:
        return [row.id for row in select(rows, Filter(**wanted))]

    assert ids(since="2026-01-02", until="2026-01-02") == ["r1"]
    assert (ids(until="2026-01-01"), ids(order="fastest")) == (["r0"], ["r2", "r0", "r1"])
    assert ids(order="slowest") == ["r0", "r2", "r1"]
    assert ids(order="oldest") == ["r0", "r1", "r2"]


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
