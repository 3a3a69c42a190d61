"""Rows straight from the index's file, for the one case that is asked for again and again.

``sqlite3`` of the standard library starts in a twentieth of the time that SQLAlchemy takes. Nothing
is mended here: whatever is not as it should be is left to `enginescope.store.listing`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any

from enginescope.store.migrations import HEAD
from enginescope.store.row import Filter, RunRow, search_key

_COLUMNS = tuple(name for name in RunRow.__struct_fields__ if name != "tags")
_BUSY_TIMEOUT_S = 1.0
#: Ids in one statement; SQLite bounds the number of parameters.
_CHUNK = 500


def quick_rows(file: Path, names: Collection[str], wanted: Filter) -> tuple[RunRow, ...] | None:
    """Return the rows that fit, the newest first, if the index is of just the runs of these names.

    Parameters
    ----------
    file : Path
        The index.
    names : collection of str
        Of all runs there are.
    wanted : Filter

    Returns
    -------
    tuple of RunRow or None
        ``None``: the index is missing, another version's, damaged, locked, or behind.
    """
    try:
        uri = f"{file.absolute().as_uri()}?mode=rw"  # never made by asking
        with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT_S)) as connection:
            connection.execute("BEGIN")  # one state of it for all questions
            if connection.execute("SELECT version_num FROM alembic_version").fetchone() != (HEAD,):
                return None
            known = {one for (one,) in connection.execute("SELECT id FROM runs")}
            if len(known) != len(names) or not known.issuperset(names):
                return None
            return _rows(connection, wanted)
    except (sqlite3.Error, ValueError, TypeError):
        return None


def _rows(connection: sqlite3.Connection, wanted: Filter) -> tuple[RunRow, ...]:
    query, parameters = _query(wanted)
    found = connection.execute(query, parameters).fetchall()
    tags = _tags(connection, [row[0] for row in found])
    return tuple(
        RunRow(**dict(zip(_COLUMNS, row, strict=True)), tags=tags.get(row[0], ())) for row in found
    )


def _query(wanted: Filter) -> tuple[str, list[Any]]:
    terms: list[str] = []
    parameters: list[Any] = []
    for term, value in (
        ("id IN (SELECT run_id FROM tags WHERE tag = ?)", wanted.tag),
        ("instr(model_key, ?) > 0", search_key(wanted.model)),
        ("instr(backend_key, ?) = 1", search_key(wanted.backend)),
        ("outcome = ?", wanted.outcome),
    ):
        if value is not None:
            terms.append(term)
            parameters.append(value)
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    query = f"SELECT {', '.join(_COLUMNS)} FROM runs{where} ORDER BY created DESC, id"  # noqa: S608 - no value in it
    query += " LIMIT ? OFFSET ?"
    parameters += [-1 if wanted.limit is None else wanted.limit, wanted.offset]
    return query, parameters


def _tags(connection: sqlite3.Connection, ids: list[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for start in range(0, len(ids), _CHUNK):
        some = ids[start : start + _CHUNK]
        marks = ", ".join("?" * len(some))
        query = f"SELECT run_id, tag FROM tags WHERE run_id IN ({marks}) ORDER BY tag"  # noqa: S608 - no value in it
        for run_id, tag in connection.execute(query, some):
            found[run_id] = (*found.get(run_id, ()), tag)
    return found
