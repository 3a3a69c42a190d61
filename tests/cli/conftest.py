"""What tests of several verbs share."""

from contextlib import ExitStack

import pytest

from enginescope.cli.main import main
from enginescope.cli.messages import USUAL, set_level
from enginescope.store.archive import Store
from tests.fakes import loading


@pytest.fixture(autouse=True)
def usual_level() -> None:
    """Have no ``-q`` of an earlier test silence this one."""
    set_level(USUAL)


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    """The store that verbs use by themselves, in the working folder; lines of 80 columns."""
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return Store()


@pytest.fixture
def use():
    """Put the stand-in for TensorRT where this process and its workers find it."""
    with ExitStack() as stack:

        def loaded(version: str = "10.16.1", fault: str = ""):
            return stack.enter_context(loading.loaded(version, fault))

        yield loaded


@pytest.fixture
def verb(tmp_path, capfd):
    """Run a verb with a store of this test; give its exit code and what it printed."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([*map(str, arguments), "--store", str(tmp_path / "store")])
        printed = capfd.readouterr()
        assert "Traceback" not in printed.err
        return code, printed.out, printed.err

    return run
