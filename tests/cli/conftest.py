"""What tests of several verbs share."""

import pytest

from enginescope.cli.main import main
from enginescope.cli.messages import USUAL, set_level


@pytest.fixture(autouse=True)
def usual_level() -> None:
    """Have no ``-q`` of an earlier test silence this one."""
    set_level(USUAL)


@pytest.fixture
def verb(tmp_path, capfd):
    """Run a verb with a store of this test; give its exit code and what it printed."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([*map(str, arguments), "--store", str(tmp_path / "store")])
        printed = capfd.readouterr()
        assert "Traceback" not in printed.err
        return code, printed.out, printed.err

    return run
