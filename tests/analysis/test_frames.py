import pytest

from enginescope.analysis import frames
from enginescope.core import optional
from enginescope.core.errors import MissingDependencyError


@pytest.mark.parametrize("make", [frames.to_pandas, frames.to_polars, frames.to_arrow])
def test_without_the_extra_it_says_what_to_install(monkeypatch, make) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr(optional.importlib, "import_module", absent)
    with pytest.raises(MissingDependencyError) as caught:
        make({"a": [1]})
    assert caught.value.hint == "pip install 'enginescope[frames]'"


def test_a_late_float_does_not_become_an_integer() -> None:
    pytest.importorskip("polars")
    values = [None] * 300 + [0.5]
    assert frames.to_polars({"a": values})["a"].to_list() == values
