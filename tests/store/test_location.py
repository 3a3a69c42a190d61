from pathlib import Path

import pytest

from enginescope.core.errors import UsageError
from enginescope.store.location import VARIABLE, store_folder


def test_the_argument_goes_first_else_the_platforms_data_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "variable"))
    assert store_folder(tmp_path / "argument") == tmp_path / "argument"
    assert store_folder() == tmp_path / "variable"
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert store_folder().name == "enginescope"
    assert store_folder(Path("~/runs")) == Path.home() / "runs"
    with pytest.raises(UsageError, match="no_such_user"):
        store_folder(Path("~no_such_user_here/x"))
