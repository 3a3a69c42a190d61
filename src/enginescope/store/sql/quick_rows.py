"""Rows straight from a SQLite file, for the one case that is asked for again and again.

``sqlite3`` of the standard library starts in a twentieth of the time that SQLAlchemy takes. Nothing
is mended here: whatever is not as it should be is left to `enginescope.store.sql.listing`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from enginescope.store.row import Filter, RunRow
from enginescope.store.sql.migrations import HEAD
from enginescope.store.sql.row_query import Speech, listing, row_of_values

_SPEECH = Speech(mark="?", place_of="instr", no_limit=-1)
_BUSY_TIMEOUT_S = 1.0
#: Ids in one statement; SQLite bounds the number of parameters.
_CHUNK = 500


def quick_rows(file: Path, names: Collection[str], wanted: Filter) -> tuple[RunRow, ...] | None:
    """Return the rows that fit, the newest first, if the index is of just the runs of these names.

    Args:
        file: The index.
        names: Of all runs there are.

    Returns:
        ``None``: the index is missing, another version's, damaged, locked, or behind.
    """
    try:
        with closing(_opened(file)) as connection:
            if not _is_current(connection):
                return None
            known = {one for (one,) in connection.execute("SELECT id FROM runs")}
            if len(known) != len(names) or not known.issuperset(names):
                return None
            return _rows(connection, wanted)
    except (sqlite3.Error, ValueError, TypeError):
        return None


def rows_of_file(file: Path, wanted: Filter) -> tuple[RunRow, ...] | None:
    """Return the rows that fit of a database that is a store itself, the newest first.

    Returns:
        ``None``: it is missing, another version's, damaged or locked.
    """
    try:
        with closing(_opened(file)) as connection:
            return _rows(connection, wanted) if _is_current(connection) else None
    except (sqlite3.Error, ValueError, TypeError):
        return None


def _opened(file: Path) -> sqlite3.Connection:
    uri = f"{file.absolute().as_uri()}?mode=rw"  # never made by asking
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT_S)
    connection.execute("BEGIN")  # one state of it for all questions
    return connection


def _is_current(connection: sqlite3.Connection) -> bool:
    version: tuple[str] | None
    version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return version == (HEAD,)


def _rows(connection: sqlite3.Connection, wanted: Filter) -> tuple[RunRow, ...]:
    found = connection.execute(*listing(wanted, _SPEECH)).fetchall()
    tags = _tags(connection, [row[0] for row in found])
    return tuple(row_of_values(row, tags) for row in found)


def _tags(connection: sqlite3.Connection, ids: list[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for start in range(0, len(ids), _CHUNK):
        some = ids[start : start + _CHUNK]
        marks = ", ".join("?" * len(some))
        query = f"SELECT run_id, tag FROM tags WHERE run_id IN ({marks}) ORDER BY tag"  # noqa: S608 - no value in it
        for run_id, tag in connection.execute(query, some):
            found[run_id] = (*found.get(run_id, ()), tag)
    return found
