from pathlib import Path

import pytest

from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.services.verdicts.run_selection import runs_of_suite
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl, recorded_place
from enginescope.store.suite_folder import ROWS, SuiteFolder
from tests.store.conftest import PLACES, postgresql  # noqa: F401 - a fixture
from tests.store.postgresql import PASSWORD
from tests.store.stored_runs import a_run
from tests.suites.made import cell, result, timed


@pytest.mark.parametrize(
    ("place", "password", "said"),
    [
        ("postgresql+psycopg://u:***@127.0.0.1:9/none", None, "the store that nightly was run"),
        (
            "postgresql+psycopg://u@127.0.0.1:9/none",
            "mine",
            "$PGPASSWORD would go to any machine that a suite names; add --store URL",
        ),
        *((place, None, "") for place in ("/gone", "sqlite:////gone/team.db", "mysql://u@h/d")),
    ],
)
def test_a_store_that_does_not_answer(tmp_path, monkeypatch, place, password, said) -> None:
    """It is asked once, and no password goes to a server that a suite names."""
    if "***" in place:
        pytest.importorskip("psycopg")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    if password is not None:
        monkeypatch.setenv("PGPASSWORD", password)
    suite = a_suite(tmp_path / "suite", Store(tmp_path / "theirs"))
    suite.begin(replace(suite.plan(), store=place))
    told: list[str] = []
    assert runs_of_suite(suite, Store(tmp_path / "ours"), told.append) == ()
    assert said in told[0]
    assert told[-1] == f"2 of 2 runs of {suite.path} are not stored here"
    assert len(told) <= 2
    assert not Path("/gone").exists()


def a_suite(folder: Path, store: Store) -> SuiteFolder:
    """A suite of two cells in a folder of its own, its runs in a store."""
    rows = [replace(timed(cell(name), 2.0), run=f"{name}01") for name in "ab"]
    for one in rows:
        store.save(a_run(id=one.run))
    made = SuiteFolder(folder)
    made.begin(replace(result(rows).plan, store=str(store.place)))
    for one in rows:
        made.keep(one)
    return made


@pytest.fixture(params=PLACES)
def elsewhere(request, tmp_path, monkeypatch) -> Store:
    """A store that nobody names but the suite; its password is in ~/.pgpass, as it should be."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    (tmp_path / "pgpass").write_text(f"*:*:*:*:{PASSWORD}")
    (tmp_path / "pgpass").chmod(0o600)
    if request.param == "folder":
        return Store(tmp_path / "theirs")
    if request.param == "sqlite":
        return Store(DatabaseUrl(f"sqlite:///{tmp_path / 'team.db'}"))
    return Store(DatabaseUrl(request.getfixturevalue("postgresql").fresh_url()))


def test_runs_are_found_in_the_given_store_else_in_the_suites_own(tmp_path, elsewhere) -> None:
    suite, said = a_suite(tmp_path / "suite", elsewhere), []
    found = runs_of_suite(suite, Store(tmp_path / "ours"), said.append)
    assert [one.id for one in found] == ["a01", "b01"]
    assert said == []
    assert PASSWORD not in (tmp_path / "suite" / "suite.json").read_text()
    ours = Store(tmp_path / "ours")
    ours.save(a_run("ours.onnx", id="a01"))
    found = runs_of_suite(suite, ours, print)
    assert [one.job.subject.name for one in found] == ["ours.onnx", "m.onnx"]


def test_a_line_that_cannot_be_read_is_said_by_a_gate(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    store = Store(tmp_path / "store")
    suite = a_suite(tmp_path / "suite", store)
    with (suite.path / ROWS).open("ab") as file:
        file.write(b"merged by hand\n")
    store.save(a_run(id="c01", at=60), tags=["now"])
    main(["gate", "--baseline", str(suite.path), "now"])
    assert f"line 3 of {suite.path / ROWS} cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("recorded", "url"),
    [
        ("postgresql+psycopg://u:***@h:1/d", "postgresql+psycopg://u@h:1/d"),
        ("postgresql+psycopg://u@h/d?password=***&a=b", "postgresql+psycopg://u@h/d?a=b"),
        ("postgresql+psycopg://u@h/d?a=b&password=***", "postgresql+psycopg://u@h/d?a=b"),
        ("sqlite:////x/team.db", "sqlite:////x/team.db"),
    ],
)
def test_what_stands_for_a_password_is_none(recorded, url) -> None:
    found = recorded_place(recorded)
    assert isinstance(found, DatabaseUrl)
    assert found.secret_url.rstrip("&?") == url
