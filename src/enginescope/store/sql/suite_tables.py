"""Suites in a database: plan and rows of each, brought together with what a machine has of it."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec
import sqlalchemy as sa

from enginescope.core.errors import StoreError
from enginescope.core.jsonio import encode, write_atomic
from enginescope.records.suite.suite import CellRow
from enginescope.store.sql.schema import SUITES as TABLE
from enginescope.store.suite_folder import PLAN, ROWS, SUITES, SuiteFolder, SuiteRunsError, rows_in


def fetch_suites(connection: sa.Connection, home: Path) -> None:
    """Bring ``home/suites`` up to what the database has; rows that only it has stay.

    Raises:
        StoreError: The folder cannot be written, or a name leads out of it.
    """
    for name, digest in connection.execute(sa.select(TABLE.c.name, TABLE.c.digest)).all():
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise StoreError(f"suite {name!r} of the database", why="it is no name of a folder")
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
