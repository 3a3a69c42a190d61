"""Rows of a suite that runs: sent to a database or a server, through kills and lost connections."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

import enginescope as es
from enginescope.cli.main import main
from enginescope.core.errors import StoreError
from enginescope.core.jsonio import encode
from enginescope.records.suite.suite_change import Claim, SuiteChange
from enginescope.serve.access import Access
from enginescope.serve.app import Taking
from enginescope.services.suites import stream as module
from enginescope.services.suites.observer import SuiteObserver
from enginescope.services.suites.request import PushTarget
from enginescope.services.suites.sinks import DatabaseSink, ServerSink
from enginescope.services.suites.stream import SuiteStream
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from enginescope.store.suite_folder import SUITES, SuiteFolder, suite_folders
from enginescope.store.suite_lease import SuiteRunsError
from tests.serve.conftest import TOKEN, served, wait_for
from tests.store.conftest import postgresql  # noqa: F401 - a fixture
from tests.store.postgresql import running_server
from tests.store.stored_runs import a_run
from tests.suites.made import cell, result, timed

LIMIT_S = 280
CELLS = tuple(cell(f"net{number}") for number in range(6))
PLAN = result([], cells=CELLS).plan
OPEN = {"access": Access(token=TOKEN), "taking": Taking(is_on=True)}
DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.database))


@pytest.fixture(params=DATABASES)
def database(request, tmp_path: Path, monkeypatch) -> DatabaseUrl:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ENGINESCOPE_HOME", raising=False)
    if request.param == "sqlite":
        return DatabaseUrl(f"sqlite:///{tmp_path / 'team.db'}")
    return DatabaseUrl(request.getfixturevalue("postgresql").fresh_url())


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    monkeypatch.setattr(module, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(module, "MOST_WAIT_S", 0.05)
    monkeypatch.setattr(module, "RENEW_S", 0.05)


class Noting(SuiteObserver):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def sending_failed(self, why: str) -> None:
        self.reasons.append(why)


class Machine:
    """A machine that runs a suite of which the cells take no time."""

    def __init__(self, home: Path) -> None:
        self.store = Store(home)
        self.folder = SuiteFolder(home / SUITES / "nightly")
        self.observer = Noting()

    def stream(self, address: str) -> SuiteStream:
        sink = ServerSink(PushTarget(url=address, token=TOKEN), self.store, self.observer)
        return SuiteStream(PLAN, self.folder, sink, self.observer)

    def measure(self, at: int) -> None:
        run = self.store.save(a_run(id=f"run{at}", at=at)).name
        self.folder.keep(replace(timed(CELLS[at], 1.0 + at), run=run))


def rows_of(store: Store) -> list[str]:
    folders = suite_folders(store.suite_home())
    return [row.run for folder in folders for row in folder.result().rows]


@pytest.fixture
def machine(tmp_path) -> Machine:
    return Machine(tmp_path / "here")


@pytest.fixture
def team(tmp_path) -> Store:
    return Store(tmp_path / "team")


def test_a_server_has_each_row_and_its_run_at_once(machine, team) -> None:
    with served(team, **OPEN) as address, machine.stream(address) as stream:
        machine.folder.begin(PLAN)
        for at in range(3):
            machine.measure(at)
            wait_for(lambda at=at: rows_of(team) == [f"run{one}" for one in range(at + 1)])
            assert team.has(f"run{at}")
        assert team.suite_lease("nightly").owner == machine.folder.lease().owner
    assert stream.unsent is None
    assert team.suite_lease("nightly").expires <= team.suite_lease("nightly").renewed
    assert suite_folders(team.suite_home())[0].plan().store == str(team.place)


def test_a_server_goes_away_and_comes_back(machine, team) -> None:
    with served(team, **OPEN) as address:
        stream = machine.stream(address)
        stream.__enter__()
        machine.folder.begin(PLAN)
        machine.measure(0)
        wait_for(lambda: rows_of(team) == ["run0"])
    for at in (1, 2, 3):  # measuring goes on
        machine.measure(at)
    wait_for(lambda: bool(machine.observer.reasons))
    assert rows_of(team) == ["run0"]
    with served(team, **OPEN, port=int(address.rpartition(":")[2])):
        wait_for(lambda: len(rows_of(team)) == 4)
        machine.measure(4)
        stream.__exit__(None, None, None)
    assert stream.unsent is None
    assert rows_of(team) == [f"run{at}" for at in range(5)]
    assert f"server {address}: " in machine.observer.reasons[0]


def test_what_no_server_took_is_named_and_sent_later(
    machine, team, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("ENGINESCOPE_TOKEN", TOKEN)
    with served(team, **OPEN) as address:
        pass
    with machine.stream(address) as stream:  # there is no server from the start
        machine.folder.begin(PLAN)
        machine.measure(0)
        machine.measure(1)
    assert len(set(machine.observer.reasons)) == len(machine.observer.reasons) == 1
    assert stream.unsent.startswith(f"at least 2 rows are not sent to the server {address}: ")
    words = shlex.split(stream.unsent.partition("send the rest: ")[2])
    assert words[:2] == ["enginescope", "push"]
    with served(team, **OPEN, port=int(address.rpartition(":")[2])):
        assert main(words[1:]) == 0
        assert "2 rows of the suite sent" in capsys.readouterr().out
        assert main([*words[1:], "--json"]) == 0
        assert '"rows": 0' in capsys.readouterr().out.replace('"rows":0', '"rows": 0')
        assert main([*words[1:], "--tag", "x"]) == 2
        assert main([*words[1:4], "none", *words[5:]]) == 2
    assert rows_of(team) == ["run0", "run1"]
    assert team.has("run1")


def test_a_server_of_the_same_store_has_everything_already(machine) -> None:
    with (
        served(machine.store, **OPEN) as address,
        machine.folder.held(),
        machine.stream(address) as stream,
    ):
        machine.folder.begin(PLAN)
        machine.measure(0)
    assert stream.unsent is None
    assert machine.observer.reasons == []
    assert rows_of(machine.store) == ["run0"]


def test_an_interrupted_session_names_what_was_not_sent(machine, team) -> None:
    with served(team, **OPEN) as address:
        pass
    warnings: list[str] = []
    machine.observer.warn = warnings.append
    stream = machine.stream(address)
    stream.__enter__()
    machine.folder.begin(PLAN)
    machine.measure(0)
    stream.__exit__(KeyboardInterrupt, None, None)
    assert warnings == [stream.unsent]
    assert stream.unsent.startswith("at least 1 row is not sent")


def test_the_next_session_sends_what_a_kill_has_left(machine, team) -> None:
    machine.folder.begin(PLAN)
    machine.measure(0)
    with served(team, **OPEN) as address, machine.stream(address):
        pass
    assert rows_of(team) == ["run0"]


def test_a_second_machine_is_told_who_runs_the_suite(machine, team, tmp_path) -> None:
    other = Machine(tmp_path / "there")
    with served(team, **OPEN) as address, machine.stream(address):
        with pytest.raises(SuiteRunsError, match=r"\(process \d+\) is running it, .* until"):
            other.stream(address).__enter__()
        assert other.folder.lease().expires <= other.folder.lease().renewed


def test_rows_of_a_lease_that_was_lost_are_sent_all_the_same(machine, team) -> None:
    with served(team, **OPEN) as address, machine.stream(address) as stream:
        machine.folder.begin(PLAN)
        (folder,) = suite_folders(team.suite_home())
        taken_over = encode(replace(folder.lease(), token="another", expires=time.time() + 900))

        def is_refused() -> bool:  # a renewal may come between
            (folder.path / "lease.json").write_bytes(taken_over)
            return bool(machine.observer.reasons)

        wait_for(is_refused)
        machine.measure(0)
        wait_for(lambda: rows_of(team) == ["run0"])
    assert stream.unsent is None
    assert "is running it" in machine.observer.reasons[0]


def test_a_server_that_refuses_is_known_before_anything_is_measured(machine, team) -> None:
    with (
        served(team, access=Access(token=TOKEN)) as address,
        pytest.raises(StoreError, match="accepts no runs"),
    ):
        machine.stream(address).__enter__()


def test_a_run_that_is_refused_holds_up_no_row(machine, team) -> None:
    taking = Taking(is_on=True, most_bytes=100)
    with (
        served(team, Access(token=TOKEN), taking) as address,
        machine.stream(address) as stream,
    ):
        machine.folder.begin(PLAN)
        machine.measure(0)
    assert rows_of(team) == ["run0"]
    assert stream.unsent == "run run0 was not sent: more than 100 bytes"


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
    with folder.held(), SuiteStream(PLAN, folder, sink, Noting()):
        pass
    assert list(store.suites.suite_ended("nightly")) == [CELLS[0].key]


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
def test_a_kill_after_three_cells_loses_none_and_another_machine_takes_over(
    database, tmp_path, convnet
) -> None:
    backends = ", ".join(f'"fake?seed={seed}&latency_us=2000"' for seed in range(7))
    file = tmp_path / "killed.toml"
    file.write_text(
        f'[suite]\nmodels = ["{convnet}"]\nbackends = [{backends}]\nlayers = false\n'
        '[timing]\niterations = 300\nwarmup = "1"\n'
    )
    store, words = Store(database), command(database, file)
    first = subprocess.Popen(words, stderr=subprocess.DEVNULL, env=on(tmp_path / "one"))
    wait_for(lambda: len(store.suites.suite_ended("killed")) >= 3, LIMIT_S)

    def run(home: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, capture_output=True, text=True, timeout=LIMIT_S, env=on(tmp_path / home)
        )

    refused = run("two")
    assert refused.returncode == 2
    assert f"(process {first.pid}) is running it, with a lease until 20" in refused.stderr
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = store.suites.suite_ended("killed")
    assert 3 <= len(before) <= 7
    assert "is running it" in run("two").stderr  # nobody knows yet that it was killed
    expire(database)
    ended = run("two")
    assert ended.returncode == 0, ended.stderr
    assert f"{len(before)} done before" in ended.stderr
    after = store.suites.suite_ended("killed")
    assert {key: after[key] for key in before} == before
    assert len(after) == 7
    (folder,) = suite_folders(store.suite_home())
    assert all(store.has(row.run) for row in folder.result().rows)


@pytest.mark.slow
def test_a_machine_resumes_its_own_suite_at_once(tmp_path, convnet, monkeypatch) -> None:
    database = DatabaseUrl(f"sqlite:///{tmp_path / 'team.db'}")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "one"))
    store = Store(database)
    folder = SuiteFolder(store.suite_home() / SUITES / "again")
    claim = Claim(owner="here (process 1)", token=folder.token(), seconds=900)
    store.suites.put_suite("again", SuiteChange(plan=PLAN, claim=claim))
    file = tmp_path / "again.toml"
    file.write_text(
        f'[suite]\nmodels = ["{convnet}"]\nbackends = ["fake"]\nlayers = false\n'
        '[timing]\niterations = 10\nwarmup = "1"\n'
    )
    assert main(command(database, file)[3:]) == 0
    assert len(store.suites.suite_ended("again")) == 1


@pytest.mark.slow
def test_a_suite_is_pushed_while_it_runs(team, tmp_path, convnet, monkeypatch, capsys) -> None:
    """From the command line and from Python; then the server is gone."""
    file, here = tmp_path / "token", tmp_path / "here"
    file.write_text(TOKEN)
    request = es.SuiteRequest(
        source=convnet.parent, name="nightly", include=("convnet",), backends=("fake",), store=here
    )
    request = replace(request, layers=False, iterations=10, warmup="1")
    words = ["suite", str(convnet.parent), "--include", "convnet", "--on", "fake", "--no-layers"]
    words += ["--iterations", "10", "--warmup", "1", "--name", "nightly", "--store", str(here)]
    words += ["--token-file", str(file)]
    with served(team, **OPEN) as address:
        assert main([*words, "--push", address]) == 0
        (run,) = rows_of(team)
        assert team.load(run).tags == ("nightly",)
        request = replace(request, push=es.PushTarget(url=address, token=TOKEN), iterations=11)
        assert TOKEN not in repr(request)
        (row,) = es.run_suite(request).result.rows
        assert rows_of(team) == [row.run] != [run]
        assert team.has(row.run)
    assert main([*words, "--push", address, "--on", "fake?seed=2"]) == 3
    shown = capsys.readouterr().err
    assert f"not sent yet: server {address}" in shown
    sending = f"enginescope push {address} --suite nightly --store {here} --token-file {file}"
    assert f"send the rest: {sending}" in shown
    assert TOKEN not in shown
    with pytest.warns(UserWarning, match="at least 1 row is not sent to the server"):
        es.run_suite(replace(request, backends=("fake", "fake?seed=3")))
    assert main(words) == 2  # a token without --push
    database = f"sqlite:///{tmp_path / 'team.db'}"
    assert main([*words[:-3], database, *words[-2:], "--push", address]) == 2
    assert "a database and a server would both get the rows" in capsys.readouterr().err
