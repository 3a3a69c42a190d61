import shlex
import time
from pathlib import Path

import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.core.errors import StoreError
from enginescope.core.jsonio import encode
from enginescope.core.record import replace
from enginescope.serve.access import Access
from enginescope.serve.app import Taking
from enginescope.services.suites import stream as module
from enginescope.services.suites.request import PushTarget, SuiteObserver
from enginescope.services.suites.stream import ServerSink, SuiteStream
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SUITES, SuiteFolder, SuiteRunsError, suite_folders
from tests.serve.conftest import TOKEN, served, wait_for
from tests.store.stored_runs import a_run
from tests.suites.made import cell, result, timed

CELLS = tuple(cell(f"net{number}") for number in range(6))
PLAN = result([], cells=CELLS).plan
OPEN = {"access": Access(token=TOKEN), "taking": Taking(is_on=True)}


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
    return [row.run for folder in suite_folders(store.suite_home()) for row in folder.result().rows]


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


def test_rows_that_no_server_took_are_sent_later(machine, team, monkeypatch, capsys) -> None:
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
    assert words[:3] == ["enginescope", "runs", "push"]
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
    with served(machine.store, **OPEN) as address, machine.folder.held():
        machine.folder.begin(PLAN)
        with machine.stream(address) as stream:
            machine.measure(0)
    assert stream.unsent is None
    assert (machine.observer.reasons, rows_of(machine.store)) == ([], ["run0"])


def test_an_interrupted_session_names_what_was_not_sent(machine, team) -> None:
    """And the next one sends it."""
    warnings: list[str] = []
    machine.observer.warn = warnings.append
    with served(team, **OPEN) as address:
        pass
    stream = machine.stream(address)
    stream.__enter__()
    machine.folder.begin(PLAN)
    machine.measure(0)
    stream.__exit__(KeyboardInterrupt, None, None)
    assert warnings == [stream.unsent]
    assert stream.unsent.startswith("at least 1 row is not sent")
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


def test_a_run_that_is_refused_holds_up_no_row(machine, team) -> None:
    """A server that refuses all is known before anything is measured."""
    closed = pytest.raises(StoreError, match="accepts no runs")
    with served(team, Access(token=TOKEN)) as address, closed:
        machine.stream(address).__enter__()
    taking = Taking(is_on=True, most_bytes=100)
    with served(team, Access(token=TOKEN), taking) as address, machine.stream(address) as stream:
        machine.folder.begin(PLAN)
        machine.measure(0)
    assert rows_of(team) == ["run0"]
    assert stream.unsent == "run run0 was not sent: more than 100 bytes"


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
    sending = f"enginescope runs push {address} --suite nightly --store {here} --token-file {file}"
    assert f"send the rest: {sending}" in shown
    assert TOKEN not in shown
    with pytest.warns(UserWarning, match="at least 1 row is not sent to the server"):
        es.run_suite(replace(request, backends=("fake", "fake?seed=3")))
    assert main(words) == 2  # a token without --push
    database = f"sqlite:///{tmp_path / 'team.db'}"
    assert main([*words[:-3], database, *words[-2:], "--push", address]) == 2
    assert "a database and a server would both get the rows" in capsys.readouterr().err
