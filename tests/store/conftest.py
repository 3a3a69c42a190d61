from __future__ import annotations

import pytest

from enginescope.store.archive import Store


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")
