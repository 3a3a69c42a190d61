from collections.abc import Iterator
from pathlib import Path

import pytest

from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl, StorePlace
from tests.store.postgresql import Server, running_server


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    with running_server() as server:
        yield server


#: Everything that can be a store.
PLACES = ("folder", "sqlite", pytest.param("postgresql", marks=pytest.mark.database))


@pytest.fixture(params=PLACES)
def place(request, tmp_path: Path, monkeypatch) -> StorePlace:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ENGINESCOPE_HOME", raising=False)
    if request.param == "folder":
        return tmp_path / "store"
    if request.param == "sqlite":
        return DatabaseUrl(f"sqlite:///{tmp_path / 'team.db'}")
    return DatabaseUrl(request.getfixturevalue("postgresql").fresh_url())
