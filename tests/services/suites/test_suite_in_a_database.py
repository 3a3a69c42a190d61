import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from enginescope.cli.main import main
from enginescope.core.errors import StoreError
from enginescope.core.record import replace
from enginescope.records.suite.suite import Claim, SuiteChange
from enginescope.services.suites.stream import DatabaseSink, SuiteStream
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from enginescope.store.suite_folder import SUITES, SuiteFolder, suite_folders
from tests.cli.called import called
from tests.serve.conftest import wait_for
from tests.services.suites.test_suite_stream import CELLS, PLAN, Noting, quick  # noqa: F401
from tests.store.conftest import postgresql  # noqa: F401 - a fixture
from tests.store.postgresql import running_server
from tests.store.stored_runs import a_run
from tests.suites.made import timed

LIMIT_S = 280
#: So many that the first session still runs when the second one asks for the suite.
LIVE = 6
DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.database))


@pytest.fixture(params=DATABASES)
def database(request, tmp_path: Path, monkeypatch) -> DatabaseUrl:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ENGINESCOPE_HOME", raising=False)
    if request.param == "sqlite":
        return DatabaseUrl(f"sqlite:///{tmp_path / 'team.db'}")
    return DatabaseUrl(request.getfixturevalue("postgresql").fresh_url())


class Lossy:
    """A shelf whose connection is lost until it is mended."""

    def __init__(self, store: Store) -> None:
        self.is_lost = False
        self._suites = store.suites

    def put_suite(self, name: str, change: SuiteChange) -> None:
        if self.is_lost:
            raise StoreError("the store", why="the connection is lost")
        self._suites.put_suite(name, change)

    def suite_ended(self, name: str) -> dict[str, str]:
        return self._suites.suite_ended(name)


def test_a_database_goes_away_and_comes_back(database, tmp_path) -> None:
    store = Store(database)
    folder = SuiteFolder(store.suite_home() / SUITES / "nightly")
    outbox = Store(folder.path / "outbox")
    sink, observer = DatabaseSink(store, outbox), Noting()
    sink.shelf = shelf = Lossy(store)

    def measure(at: int) -> None:
        outbox.save(a_run(id=f"run{at}", at=at), tags=["nightly"])
        folder.keep(replace(timed(CELLS[at], 1.0), run=f"run{at}"))

    with folder.held(), SuiteStream(PLAN, folder, sink, observer) as stream:
        folder.begin(PLAN)
        measure(0)
        wait_for(lambda: len(store.suites.suite_ended("nightly")) == 1)
        shelf.is_lost = True
        measure(1)
        measure(2)
        outbox.save(a_run(id="extra", at=9))  # of a cell that never ended
        wait_for(lambda: bool(observer.reasons))
        assert len(store.suites.suite_ended("nightly")) == 1
        shelf.is_lost = False
    assert stream.unsent is None
    assert sorted(store.ids()) == ["extra", "run0", "run1", "run2"]
    assert store.load("run1").tags == ("nightly",)
    assert sorted(store.suites.suite_ended("nightly")) == [one.key for one in CELLS[:3]]
    assert not outbox.path.exists() or outbox.ids() == ()


@pytest.mark.database
def test_a_server_of_databases_stops_and_starts(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    with running_server() as server:
        store = Store(DatabaseUrl(server.fresh_url()))
        folder = SuiteFolder(store.suite_home() / SUITES / "nightly")
        outbox, observer = Store(folder.path / "outbox"), Noting()
        sink = DatabaseSink(store, outbox)
        with folder.held(), SuiteStream(PLAN, folder, sink, observer) as stream:
            folder.begin(PLAN)
            server.stop()
            for at in range(3):
                outbox.save(a_run(id=f"run{at}", at=at))
                folder.keep(replace(timed(CELLS[at], 1.0), run=f"run{at}"))
            wait_for(lambda: bool(observer.reasons), 60)
            server.start()
            wait_for(lambda: len(store.suites.suite_ended("nightly")) == 3, 60)
        assert stream.unsent is None
        assert sorted(store.ids()) == ["run0", "run1", "run2"]


def test_a_database_that_stays_away_loses_nothing(database) -> None:
    store = Store(database)
    folder = SuiteFolder(store.suite_home() / SUITES / "nightly")
    sink = DatabaseSink(store, Store(folder.path / "outbox"))
    sink.shelf = shelf = Lossy(store)
    with folder.held(), SuiteStream(PLAN, folder, sink, Noting()) as stream:
        folder.begin(PLAN)
        shelf.is_lost = True
        folder.keep(timed(CELLS[0], 1.0))
    assert stream.unsent.startswith(f"1 row is not sent to the store {database}: ")
    assert f"{folder.path} has the rest of nightly; the same command sends it" in stream.unsent
    shelf.is_lost = False
    observer = Noting()
    with folder.held(), SuiteStream(PLAN, folder, sink, observer) as stream:
        wait_for(lambda: list(store.suites.suite_ended("nightly")) == [CELLS[0].key])
        wait_for(
            lambda: store.suite_lease("nightly").expires > store.suite_lease("nightly").renewed
        )
        shelf.is_lost = True
        wait_for(lambda: bool(observer.reasons))
    assert stream.unsent is None  # only the end of the lease was not sent: it expires


def suite_of(file: Path, model: Path, backends: str, iterations: int) -> Path:
    file.write_text(
        f'[suite]\nmodels = ["{model}"]\nbackends = [{backends}]\nlayers = false\n'
        f'[timing]\niterations = {iterations}\nwarmup = "1"\n'
    )
    return file


def command(database: DatabaseUrl, file: Path) -> list[str]:
    return [sys.executable, "-m", "enginescope", "suite", str(file), "--store", database.secret_url]


def on(home: Path) -> dict[str, str]:
    """The environment of a machine with a home of its own."""
    return {**os.environ, "XDG_DATA_HOME": str(home), "COLUMNS": "200"}


def expire(database: DatabaseUrl) -> None:
    engine = sa.create_engine(database.secret_url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE suites SET expires = 0"))
    engine.dispose()


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_a_kill_loses_no_cell_and_another_machine_takes_over(
    database, tmp_path, convnet, monkeypatch
) -> None:
    backends = ", ".join(f'"fake?seed={seed}&latency_us=2000"' for seed in range(LIVE))
    file = suite_of(tmp_path / "killed.toml", convnet, backends, 300)
    store, words = Store(database), command(database, file)
    first = subprocess.Popen(words, stderr=subprocess.DEVNULL, env=on(tmp_path / "one"))
    wait_for(lambda: len(store.suites.suite_ended("killed")) >= 2, LIMIT_S)

    def run_on_another_machine() -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patch:
            for name, value in on(tmp_path / "two").items():
                patch.setenv(name, value)
            return called(*words[3:])

    refused = run_on_another_machine()
    assert refused.returncode == 2
    assert f"(process {first.pid}) is running it, with a lease until 20" in refused.stderr
    assert first.poll() is None
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = store.suites.suite_ended("killed")
    assert 2 <= len(before) < LIVE
    assert "is running it" in run_on_another_machine().stderr  # nobody knows yet that it was killed
    expire(database)
    ended = run_on_another_machine()
    assert ended.returncode == 0, ended.stderr
    assert f"{len(before)} done before" in ended.stderr
    after = store.suites.suite_ended("killed")
    assert {key: after[key] for key in before} == before
    assert len(after) == LIVE
    (folder,) = suite_folders(store.suite_home())
    assert all(store.has(row.run) for row in folder.result().rows)


@pytest.mark.usefixtures("in_process")
def test_a_machine_resumes_its_own_suite_at_once(tmp_path, convnet, monkeypatch) -> None:
    database = DatabaseUrl(f"sqlite:///{tmp_path / 'team.db'}")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "one"))
    store = Store(database)
    folder = SuiteFolder(store.suite_home() / SUITES / "again")
    claim = Claim(owner="here (process 1)", token=folder.token(), seconds=900)
    store.suites.put_suite("again", SuiteChange(plan=PLAN, claim=claim))
    file = suite_of(tmp_path / "again.toml", convnet, '"fake"', 10)
    assert main(command(database, file)[3:]) == 0
    assert len(store.suites.suite_ended("again")) == 1
