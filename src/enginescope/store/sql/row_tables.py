"""Rows of runs and their tags in a database, within the caller's transaction.

Suites in a database: plan and rows of each, brought together with what a machine has of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from enginescope.core.errors import StoreError
from enginescope.core.jsonio import encode, write_atomic
from enginescope.records.suite.suite import CellRow
from enginescope.store.row import Filter, RunRow, search_key
from enginescope.store.sql.database import RUNS, TAGS
from enginescope.store.sql.database import SUITES as TABLE
from enginescope.store.sql.quick_rows import CHUNK, COLUMNS, POSTGRES, SQLITE, find_rows
from enginescope.store.suite_folder import PLAN, ROWS, SUITES, SuiteFolder, SuiteRunsError, rows_in


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
    connection.execute(RUNS.insert(), [_values(row) for row in unique.values()])
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


def _values(row: RunRow) -> dict[str, Any]:
    values = {name: _storable(getattr(row, name)) for name in COLUMNS}
    return values | {
        "model_key": _storable(search_key(row.model)),
        "backend_key": _storable(search_key(row.backend)),
    }


def _storable(value: Any) -> Any:
    """Return a value without the character that ends a text in PostgreSQL."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


def fetch_suites(connection: sa.Connection, home: Path) -> None:
    """Bring ``home/suites`` up to what the database has; rows that only it has stay.

    Raises:
        StoreError: The folder cannot be written, or a name leads out of it.
    """
    for name, digest in connection.execute(sa.select(TABLE.c.name, TABLE.c.digest)).all():
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise StoreError(f"suite {name!r} of the database", why="it is not a folder name")
        folder = SuiteFolder(home / SUITES / name)
        if digest == _digest(_read(folder.path / PLAN), _read(folder.path / ROWS)):
            continue
        query = sa.select(TABLE.c.plan, TABLE.c.rows).where(TABLE.c.name == name)
        plan, data = connection.execute(query).one()
        with suppress(SuiteRunsError), folder.held():  # one that runs is brought up at its end
            _bring_up(folder, plan, data)


def _bring_up(folder: SuiteFolder, plan: bytes, rows: bytes) -> None:
    try:
        _put(folder.path / ROWS, _merged(rows, _read(folder.path / ROWS)))
        _put(folder.path / PLAN, plan)
    except OSError as error:
        raise StoreError(f"cannot write {folder.path}", why=str(error)) from error


def keep_suite(connection: sa.Connection, folder: SuiteFolder) -> None:
    """Write a suite to the database: its plan, and its rows beside those that others wrote."""
    name = folder.path.name
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE suites IN EXCLUSIVE MODE")
    there = connection.execute(sa.select(TABLE.c.rows).where(TABLE.c.name == name)).scalar()
    plan, rows = encode(folder.plan()), _merged(_read(folder.path / ROWS), there)
    values = {"plan": plan, "rows": rows, "digest": _digest(plan, rows)}
    if there is None:
        connection.execute(TABLE.insert().values(name=name, **values))
    else:
        connection.execute(TABLE.update().where(TABLE.c.name == name).values(**values))


def _merged(mine: bytes | None, others: bytes | None) -> bytes:
    """Return the rows of both, of each cell the one that ended last."""
    found: dict[str, CellRow] = {}
    for row in (*rows_in(others or b""), *rows_in(mine or b"")):
        known = found.get(row.cell.key)
        if known is None or row.ended >= known.ended:
            found[row.cell.key] = row
    in_order = sorted(found.values(), key=lambda row: (row.ended, row.cell.key))
    return b"".join(msgspec.json.encode(row) + b"\n" for row in in_order)


def _digest(plan: bytes | None, rows: bytes | None) -> str:
    digest = hashlib.sha256(plan or b"")
    digest.update(rows or b"")
    return digest.hexdigest()


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def _put(file: Path, data: bytes) -> None:
    if _read(file) != data:
        write_atomic(file, data)
