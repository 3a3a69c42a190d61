from pathlib import Path

import pytest

from enginescope.core.errors import UsageError
from enginescope.store.location import VARIABLE, store_folder


def test_the_argument_goes_first(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "variable"))
    assert store_folder(tmp_path / "argument") == tmp_path / "argument"
    assert store_folder() == tmp_path / "variable"


def test_else_the_platforms_data_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert store_folder().name == "enginescope"


def test_home_is_expanded() -> None:
    assert store_folder(Path("~/runs")) == Path.home() / "runs"


def test_an_unknown_home_is_a_user_error() -> None:
    with pytest.raises(UsageError, match="no_such_user"):
        store_folder(Path("~no_such_user_here/x"))
