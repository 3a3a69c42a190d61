"""Rows of runs and their tags in a database, within the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from enginescope.store.row import Filter, RunRow, search_key
from enginescope.store.sql.schema import RUNS, TAGS

#: Ids in one statement; databases bound the number of parameters.
_CHUNK = 500
_COLUMNS = tuple(name for name in RunRow.__struct_fields__ if name != "tags")
_LISTED = [RUNS.c[name] for name in _COLUMNS]


def all_ids(connection: sa.Connection) -> set[str]:
    """Return the ids of all runs."""
    return set(connection.execute(sa.select(RUNS.c.id)).scalars())


def select_rows(connection: sa.Connection, wanted: Filter) -> tuple[RunRow, ...]:
    """Return the rows that fit, the newest first."""
    found = connection.execute(_query(wanted)).mappings().all()
    tags = _tags_of(connection, [row["id"] for row in found])
    return tuple(RunRow(**row, tags=tags.get(row["id"], ())) for row in found)


def put_rows(connection: sa.Connection, rows: Iterable[RunRow]) -> None:
    """Insert or replace rows."""
    unique = {row.id: row for row in rows}
    if not unique:
        return
    forget_rows(connection, list(unique))
    connection.execute(RUNS.insert(), [_values(row) for row in unique.values()])
    tags = [
        {"run_id": row.id, "tag": tag} for row in unique.values() for tag in dict.fromkeys(row.tags)
    ]
    if tags:
        connection.execute(TAGS.insert(), tags)


def forget_rows(connection: sa.Connection, ids: list[str]) -> None:
    """Drop rows."""
    for start in range(0, len(ids), _CHUNK):
        some = ids[start : start + _CHUNK]
        connection.execute(TAGS.delete().where(TAGS.c.run_id.in_(some)))
        connection.execute(RUNS.delete().where(RUNS.c.id.in_(some)))


def clear_rows(connection: sa.Connection) -> None:
    """Drop all rows."""
    connection.execute(TAGS.delete())
    connection.execute(RUNS.delete())


def _query(wanted: Filter) -> sa.Select[Any]:
    query = sa.select(*_LISTED).order_by(RUNS.c.created.desc(), RUNS.c.id)
    if wanted.tag is not None:
        query = query.join(TAGS, TAGS.c.run_id == RUNS.c.id).where(TAGS.c.tag == wanted.tag)
    if wanted.model is not None:
        key = search_key(wanted.model)
        query = query.where(RUNS.c.model_key.contains(key, autoescape=True))
    if wanted.backend is not None:
        key = search_key(wanted.backend)
        query = query.where(RUNS.c.backend_key.startswith(key, autoescape=True))
    if wanted.outcome is not None:
        query = query.where(RUNS.c.outcome == wanted.outcome)
    return query.limit(wanted.limit).offset(wanted.offset or None)


def _tags_of(connection: sa.Connection, ids: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the tags of runs; asked for all at once where there are many runs."""
    query = sa.select(TAGS.c.run_id, TAGS.c.tag).order_by(TAGS.c.tag)
    if len(ids) <= _CHUNK:
        query = query.where(TAGS.c.run_id.in_(ids))
    found: dict[str, tuple[str, ...]] = {}
    for run_id, tag in connection.execute(query):
        found[run_id] = (*found.get(run_id, ()), tag)
    return found


def _values(row: RunRow) -> dict[str, Any]:
    values = {name: _storable(getattr(row, name)) for name in _COLUMNS}
    return values | {
        "model_key": _storable(search_key(row.model)),
        "backend_key": _storable(search_key(row.backend)),
    }


def _storable(value: Any) -> Any:
    """Return a value without the character that ends a text in PostgreSQL."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value
