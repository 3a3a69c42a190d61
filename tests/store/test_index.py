from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

import enginescope.store
from enginescope.core.errors import StoreError
from enginescope.store.index import HEAD, Index
from enginescope.store.row import row_of
from enginescope.store.schema import METADATA
from tests.store.test_archive import a_run


@pytest.fixture
def index(tmp_path):
    made = Index.in_folder(tmp_path)
    made.prepare()
    yield made
    made.close()


def test_the_migrations_make_the_tables_of_the_schema(index) -> None:
    inspector = sa.inspect(index._engine)
    for table in METADATA.sorted_tables:
        made = {column["name"] for column in inspector.get_columns(table.name)}
        assert made == set(table.columns.keys())
        wanted = {one.name for one in table.indexes}
        assert wanted <= {one["name"] for one in inspector.get_indexes(table.name)}


def test_head_is_the_newest_migration() -> None:
    folder = Path(enginescope.store.__file__).parent / "migrations" / "versions"
    newest = max(path.name for path in folder.glob("[0-9]*.py"))
    assert newest.startswith(HEAD)


def test_preparing_twice_changes_nothing(index) -> None:
    index.put([row_of(a_run())])
    index.prepare()
    assert len(index.rows()) == 1


def test_a_row_replaces_the_row_of_its_id(index) -> None:
    row = row_of(a_run(id="one", tags=("a", "b")))
    index.put([row])
    index.put([row_of(a_run("other.onnx", id="one", tags=("c",)))])
    (found,) = index.rows()
    assert (found.model, found.tags) == ("other.onnx", ("c",))
    index.remove("one")
    assert index.rows() == ()


def test_many_rows_keep_their_tags(index) -> None:
    index.put(row_of(a_run(at=number, tags=(f"t{number}",))) for number in range(600))
    rows = index.rows()
    assert len(rows) == 600
    assert all(len(row.tags) == 1 for row in rows)
    assert rows[0].tags == ("t599",)


def test_damage_is_a_store_error(tmp_path) -> None:
    (tmp_path / "index.sqlite").write_bytes(b"not a database" * 500)
    with pytest.raises(StoreError, match="the index of runs"):
        Index.in_folder(tmp_path).prepare()


def test_a_table_taken_away_is_a_store_error(index) -> None:
    with index._engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE runs"))
    with pytest.raises(StoreError):
        index.rows()
    with pytest.raises(StoreError):
        index.put([row_of(a_run())])
