"""Rows of runs and their tags in a database, within the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from enginescope.store.row import Filter, RunRow
from enginescope.store.sql.database import RUNS, TAGS
from enginescope.store.sql.quick_rows import CHUNK, POSTGRES, SQLITE, find_rows, row_values


def all_ids(connection: sa.Connection) -> set[str]:
    """Return the ids of all runs."""
    return set(connection.execute(sa.select(RUNS.c.id)).scalars())


def select_rows(connection: sa.Connection, wanted: Filter) -> tuple[RunRow, ...]:
    """Return the rows that fit, the newest first."""
    speech = POSTGRES if connection.dialect.name == "postgresql" else SQLITE

    def execute(query: str, values: list[Any]) -> Iterable[Any]:
        return connection.exec_driver_sql(query, tuple(values))

    return find_rows(execute, wanted, speech)


def put_rows(connection: sa.Connection, rows: Iterable[RunRow]) -> None:
    """Insert or replace rows."""
    unique = {row.id: row for row in rows}
    if not unique:
        return
    forget_rows(connection, list(unique))
    connection.execute(RUNS.insert(), [row_values(row) for row in unique.values()])
    tags = [
        {"run_id": row.id, "tag": tag} for row in unique.values() for tag in dict.fromkeys(row.tags)
    ]
    if tags:
        connection.execute(TAGS.insert(), tags)


def forget_rows(connection: sa.Connection, ids: list[str]) -> None:
    """Drop rows."""
    for start in range(0, len(ids), CHUNK):
        some = ids[start : start + CHUNK]
        connection.execute(TAGS.delete().where(TAGS.c.run_id.in_(some)))
        connection.execute(RUNS.delete().where(RUNS.c.id.in_(some)))


def clear_rows(connection: sa.Connection) -> None:
    """Drop all rows."""
    connection.execute(TAGS.delete())
    connection.execute(RUNS.delete())
