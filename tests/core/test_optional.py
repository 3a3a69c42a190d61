import sys

import pytest

from enginescope.core.errors import MissingDependencyError
from enginescope.core.optional import has_come, is_installed, require


def test_a_package_that_is_present_absent_or_has_come_since() -> None:
    assert require("json", purpose="x", install="y").loads("1") == 1
    assert is_installed("json")
    with pytest.raises(MissingDependencyError) as caught:
        require("no_such_package", purpose="writing plots", install="enginescope[plots]")
    assert "no_such_package is not available: writing plots needs it" in str(caught.value)
    assert caught.value.hint == "pip install 'enginescope[plots]'"
    assert not is_installed("no_such_package")
    assert not is_installed("no_such_package.inner")
    assert not has_come(str(caught.value))
    assert has_come("Python package json is not available: x needs it")
    assert not has_come("it crashed")
    assert not has_come(None)


def test_broken_is_not_called_absent(tmp_path, monkeypatch) -> None:
    (tmp_path / "broken_package.py").write_text("import not_there_either\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "broken_package", raising=False)
    with pytest.raises(MissingDependencyError, match="fails to import: No module named"):
        require("broken_package", purpose="x", install="y")
    with pytest.raises(MissingDependencyError) as caught:
        require("broken_package", purpose="x", install="y")
    assert not has_come(str(caught.value))
