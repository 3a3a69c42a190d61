import io
import sys
import traceback
from pathlib import Path
from urllib.parse import quote

import pytest
import sqlalchemy as sa

from enginescope.cli.main import main
from enginescope.core.errors import FormatError, MissingDependencyError, StoreError, UsageError
from enginescope.records.run.run import Artifact
from enginescope.store.archive import Store
from enginescope.store.location import VARIABLE, DatabaseUrl, parse_place, without_password
from enginescope.store.sql.run_files import ARTIFACTS_VARIABLE
from enginescope.store.suite_folder import ROWS, SUITES, SuiteFolder, suite_folders
from tests.store.postgresql import PASSWORD
from tests.store.stored_runs import a_run
from tests.suites.made import cell, keep_suite, result, timed


@pytest.fixture
def url(tmp_path, monkeypatch) -> DatabaseUrl:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(VARIABLE, raising=False)
    return DatabaseUrl(f"sqlite:///{tmp_path / 'team.db'}")


@pytest.fixture
def artifact(tmp_path) -> Artifact:
    (tmp_path / "build.log").write_text("a log")
    return Artifact(path=str(tmp_path / "build.log"), kind="log")


def change(url: DatabaseUrl, statement: str, **values: object) -> None:
    engine = sa.create_engine(url.secret_url)
    with engine.begin() as connection:
        connection.execute(sa.text(statement), values)
    engine.dispose()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql+psycopg://u:p@h/db", "postgresql+psycopg://u:***@h/db"),
        ("postgresql+psycopg://u:p@w@h:1/db", "postgresql+psycopg://u:***@h:1/db"),
        ("postgresql+psycopg://u:p/w@h/db", "postgresql+psycopg://u:***@h/db"),
        (
            "postgresql+psycopg://u@h/db?password=p&x=1",
            "postgresql+psycopg://u@h/db?password=***&x=1",
        ),
        ("postgresql+psycopg://u@h/db", "postgresql+psycopg://u@h/db"),
        ("sqlite:////tmp/a.db", "sqlite:////tmp/a.db"),
    ],
)
def test_a_password_is_not_shown(url, shown) -> None:
    assert (without_password(url), str(DatabaseUrl(url))) == (shown, shown)
    assert shown in repr(DatabaseUrl(url))
    line = f"enginescope bench m.onnx --store {url} --tag a@b"
    assert without_password(line) == f"enginescope bench m.onnx --store {shown} --tag a@b"


def test_what_can_be_a_store() -> None:
    assert (parse_place("a/b"), parse_place("C:/runs")) == (Path("a/b"), Path("C:/runs"))
    assert str(parse_place("postgresql://h/db")) == "postgresql+psycopg://h/db"
    with pytest.raises(
        UsageError, match=r"mysql://u:\*\*\*@h/db: it is neither a folder"
    ) as caught:
        parse_place("mysql://u:secret@h/db")
    assert "secret" not in str(caught.value) + str(caught.value.hint)


def test_the_variable_may_name_a_database(url, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv(VARIABLE, url.secret_url)
    Store().save(a_run(id="abc"))
    assert [row.id for row in Store().rows()] == ["abc"]
    assert Store().path == tmp_path / "home" / "enginescope"


@pytest.mark.database
def test_credentials_stay_out_of_errors(postgresql, tmp_path, capsys) -> None:
    for url in (
        postgresql.url("postgres", "wrong-one"),
        postgresql.url("no_such_database"),
        f"postgresql+psycopg://u:{PASSWORD}@127.0.0.1:notaport/x",
        f"postgresql+psycopg://u:{PASSWORD}@127.0.0.1:1/x",
    ):
        assert main(["runs", "--store", url]) == 2
        shown = capsys.readouterr()
        for secret in (PASSWORD, "wrong-one"):
            assert secret not in shown.out + shown.err
        assert "the store postgresql+psycopg://" in shown.err
        with pytest.raises(StoreError) as caught:
            Store(DatabaseUrl(url)).rows()
        text = io.StringIO()
        traceback.print_exception(caught.value, file=text)
        assert PASSWORD not in text.getvalue()


@pytest.mark.database
def test_nothing_stored_holds_the_password(postgresql, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    url = postgresql.fresh_url()
    arguments = ["bench", "--store", url, "--iterations", "5", "--warmup", "1", "--json"]
    monkeypatch.setattr("sys.argv", ["enginescope", *arguments])
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert PASSWORD not in shown.out + shown.err
    store = Store(DatabaseUrl(url))
    for row in store.rows():
        assert f"--store {DatabaseUrl(url)}" in (store.load(row.id).command or "").replace("'", "")
        assert PASSWORD not in repr(store.load(row.id))
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        for table in ("runs", "tags", "files", "settings"):
            for found in connection.execute(sa.text(f"SELECT * FROM {table}")):
                assert PASSWORD.encode() not in b"".join(
                    one if isinstance(one, bytes) else str(one).encode() for one in found
                )
    engine.dispose()
    for file in (tmp_path / "home").rglob("*"):
        assert not file.is_file() or PASSWORD.encode() not in file.read_bytes()


def test_the_url_may_name_a_place_for_artefacts(url, artifact, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(ARTIFACTS_VARIABLE, str(tmp_path / "of the environment"))
    named = DatabaseUrl(f"{url.secret_url}?timeout=5&artifacts={quote(str(tmp_path / 'a b'))}")
    assert (named.secret_url, named.artifacts) == (
        f"{url.secret_url}?timeout=5",
        str(tmp_path / "a b"),
    )
    assert DatabaseUrl("postgresql://u:p@h/db?artifacts=s3://b/x").secret_url.endswith("@h/db")
    Store(named).save(a_run(id="abc", artifacts=(artifact,)))
    assert (tmp_path / "a b" / "abc" / "artifacts" / "build.log").is_file()
    monkeypatch.delenv(ARTIFACTS_VARIABLE)
    assert Store(url).artifact_paths("abc")[0].read_text() == "a log"
    other = DatabaseUrl(f"{url.secret_url}?artifacts={tmp_path / 'third'}")
    with pytest.raises(StoreError, match="those of this store are in"):
        Store(other).save(a_run())


@pytest.mark.parametrize("kind", ["folder", "file URL", "memory"])
def test_artefacts_elsewhere(url, artifact, kind, tmp_path, monkeypatch) -> None:
    if kind != "folder":
        pytest.importorskip("fsspec")
    root = tmp_path / "shared"
    where = {"folder": str(root), "file URL": f"file://{root}", "memory": "memory://team/runs"}
    monkeypatch.setenv(ARTIFACTS_VARIABLE, where[kind])
    Store(url).save(a_run(id="abc", artifacts=(artifact,)))
    monkeypatch.delenv(ARTIFACTS_VARIABLE)  # from now on the store knows
    Store(url).save(a_run(id="def", artifacts=(artifact,)))
    for run_id in ("abc", "def"):
        (path,) = Store(url).artifact_paths(run_id)
        assert path.read_text() == "a log"
        if kind != "memory":
            assert (root / run_id / "artifacts" / "build.log").read_text() == "a log"
    engine = sa.create_engine(url.secret_url)
    with engine.connect() as connection:
        query = "SELECT data FROM files WHERE path LIKE 'artifacts/%'"
        assert set(connection.execute(sa.text(query)).scalars()) == {None}
    engine.dispose()
    Store(url).delete("abc")
    if kind != "memory":
        assert [one.name for one in root.iterdir()] == ["def"]
    monkeypatch.setenv(ARTIFACTS_VARIABLE, str(tmp_path / "third"))
    with pytest.raises(StoreError, match="those of this store are in"):
        Store(url).save(a_run())
    assert not (tmp_path / "third").exists()


def test_a_save_that_fails_leaves_no_artefacts(url, artifact, tmp_path, monkeypatch) -> None:
    root = tmp_path / "shared"
    monkeypatch.setenv(ARTIFACTS_VARIABLE, str(root))
    monkeypatch.setattr(
        "enginescope.store.sql.database_store.put_rows", lambda *_: (_ for _ in ()).throw(OSError)
    )
    with pytest.raises(OSError):  # noqa: PT011
        Store(url).save(a_run(id="abc", artifacts=(artifact,)))
    assert not (root / "abc").exists()


def test_credentials_of_a_storage_and_its_missing_package_are_said(
    url, artifact, monkeypatch
) -> None:
    monkeypatch.setenv(ARTIFACTS_VARIABLE, "s3://key:secret@bucket/x")
    with pytest.raises(UsageError, match="a URL with credentials in it would be stored") as caught:
        Store(url).save(a_run())
    assert "secret" not in str(caught.value)
    pytest.importorskip("fsspec")
    monkeypatch.setenv(ARTIFACTS_VARIABLE, "no-such-kind://bucket/x")
    monkeypatch.setenv("XDG_DATA_HOME", "/nowhere")
    with pytest.raises(StoreError, match=r"cannot write .*no-such-kind"):
        Store(url).save(a_run(artifacts=(artifact,)))


def test_a_damaged_run_is_named_and_a_path_that_leads_out_refused(url, tmp_path) -> None:
    store = Store(url)
    store.save(a_run(id="abc"))
    store.save(a_run(id="def"))
    change(
        url, "UPDATE files SET data = :data WHERE run_id = 'abc' AND path = 'run.json'", data=b"{"
    )
    with pytest.raises(FormatError, match="run abc"):
        store.load("abc")
    report = store.reindex()
    assert (report.indexed, [one.name for one in report.broken]) == (1, ["abc"])
    assert [row.id for row in store.rows()] == ["def"]
    assert store.delete("abc") == "abc"
    store.save(a_run(id="abc"))
    change(url, "UPDATE files SET path = '../../evil' WHERE path LIKE 'arrays/000%'")
    for action in (store.folder_of, store.load):
        with pytest.raises(FormatError, match="leads out"):
            action("abc")
    assert not list(tmp_path.rglob("evil"))


def test_a_newer_database_or_one_without_its_driver_is_left_alone(url, monkeypatch) -> None:
    Store(url).save(a_run(id="abc"))
    change(url, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="version 9999") as caught:
        Store(url).rows()
    assert caught.value.hint == "install a newer enginescope"
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingDependencyError) as caught:
        Store(DatabaseUrl("postgresql+psycopg://u:secret@127.0.0.1/x")).rows()
    assert caught.value.hint == "pip install 'enginescope[postgres]'"
    assert "secret" not in str(caught.value)


def test_a_suite_of_two_machines(url, tmp_path, monkeypatch) -> None:
    """Each has its own copies; of a cell that both ran, the row that ended last holds."""
    a, b = cell("net", "ort-cpu"), cell("net", "ort-cpu:fp16")
    plan = result([], cells=(a, b)).plan

    def sit(machine: str, *rows) -> SuiteFolder:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / machine))
        store = Store(url)
        folder = SuiteFolder(store.suite_home() / SUITES / "nightly")
        with folder.held():
            folder.begin(plan)
            folder.keep(*rows)
            keep_suite(store, folder)
        return folder

    sit("one", timed(a, 1.0, ended="2026-01-01T00:00:00+00:00"))
    sit("two", timed(a, 2.0, ended="2026-01-02T00:00:00+00:00"))
    sit("one", timed(b, 3.0, ended="2026-01-01T00:00:01+00:00"))
    for machine in ("one", "two"):
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / machine))
        (folder,) = suite_folders(Store(url).suite_home())
        assert [one.figure("latency") for one in folder.result().rows] == [2.0, 3.0]


def test_a_suite_that_runs_is_left_alone_and_one_that_is_here_not_read_again(
    url, monkeypatch
) -> None:
    store, one = Store(url), cell()
    folder = SuiteFolder(store.suite_home() / SUITES / "nightly")
    rows = folder.path / ROWS
    with folder.held():
        folder.begin(result([], cells=(one,)).plan)
        keep_suite(store, folder)
        folder.keep(timed(one, 1.0))
        before = rows.stat().st_ino
        store.suite_home()
        assert rows.stat().st_ino == before
        keep_suite(store, folder)
    assert len(folder.result().rows) == 1
    for number in (3, 1, 2):
        folder.keep(timed(cell(f"m{number}"), 1.0, ended=f"2026-01-0{number}T00:00:00+00:00"))
    keep_suite(store, folder)
    store.suite_home()
    size = rows.stat().st_size
    monkeypatch.setattr("enginescope.store.sql.database_store._fetch", None)
    store.suite_home()
    assert rows.stat().st_size == size


def test_an_id_of_a_database_leads_nowhere(url, tmp_path) -> None:
    store = Store(url)
    store.save(a_run(id="abc"))
    top = store.folder_of("latest").parent
    for bad in ("../out", f"{tmp_path}/out", ".."):
        (top / bad).mkdir(parents=True, exist_ok=True)
        (top / bad / "mine").write_text("kept")
        for table, column in (("files", "run_id"), ("runs", "id")):
            change(url, f"UPDATE {table} SET {column} = :bad", bad=bad)
        for action in (store.folder_of, store.delete):
            with pytest.raises(StoreError, match="an id is up to 64"):
                action("latest")
        assert (top / bad / "mine").read_text() == "kept"


def test_a_suite_of_a_database_leads_nowhere(url, tmp_path) -> None:
    store = Store(url)
    folder = SuiteFolder(store.suite_home() / SUITES / "nightly")
    folder.begin(result([], cells=(cell(),)).plan)
    keep_suite(store, folder)
    for bad in ("../../out", f"{tmp_path}/out", "..", ""):
        change(url, "UPDATE suites SET name = :bad", bad=bad)
        with pytest.raises(StoreError, match="not a folder name"):
            store.suite_home()
    assert [one.parent for one in tmp_path.rglob("suite.json")] == [folder.path]
