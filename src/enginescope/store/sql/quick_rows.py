"""Rows straight from a database, by its driver alone, for a listing that is asked for often.

`sqlite3` of the standard library starts in a twentieth of the time that SQLAlchemy takes, psycopg
in a third. A run that was saved is added so too. Nothing is created, repaired or migrated here:
`index_repair` and `database_store` do that where something is not as it should be.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from enginescope.core.errors import StoreError
from enginescope.store.location import DatabaseUrl, without_password
from enginescope.store.row import Filter, RunRow, end_of, search_key
from enginescope.store.sql.migrations import HEAD

COLUMNS = tuple(name for name in RunRow.__struct_fields__ if name != "tags")
#: Ids in one statement; databases bound the number of parameters.
CHUNK = 500

#: Runs a statement with its parameters.
Execute: TypeAlias = Callable[[str, list[Any]], Iterable[Any]]


class Speech(NamedTuple):
    """How a database says what is not the same everywhere.

    Attributes:
        mark: Stands for a parameter.
        place_of: Function of a text and a part of it: where that begins, from 1.
        no_limit: Limit of a listing without one.
    """

    mark: str
    place_of: str
    no_limit: int | None


SQLITE = Speech(mark="?", place_of="instr", no_limit=-1)
POSTGRES = Speech(mark="%s", place_of="strpos", no_limit=None)


def find_rows(execute: Execute, wanted: Filter, speech: Speech) -> tuple[RunRow, ...]:
    """Return the rows that fit, in the order that is wanted."""
    query, parameters = _listing(wanted, speech)
    found = list(execute(query, parameters))
    ids = [values[0] for values in found]
    query = "SELECT run_id, tag FROM tags"
    if len(ids) <= CHUNK:
        query += f" WHERE run_id IN ({', '.join(speech.mark for _ in ids) or 'NULL'})"
    tags: dict[str, tuple[str, ...]] = {}
    for run_id, tag in execute(f"{query} ORDER BY tag", ids if len(ids) <= CHUNK else []):
        tags[run_id] = (*tags.get(run_id, ()), tag)
    return tuple(
        RunRow(**dict(zip(COLUMNS, values, strict=True)), tags=tags.get(values[0], ()))
        for values in found
    )


_ORDERS = {
    "newest": "created DESC",
    "oldest": "created",
    "fastest": "median_ms IS NULL, median_ms",
    "slowest": "median_ms IS NULL, median_ms DESC",
    "model": "model_key, created DESC",
}


def _listing(wanted: Filter, speech: Speech) -> tuple[str, list[Any]]:
    terms: list[str] = []
    parameters: list[Any] = []
    for term, value in (
        ("id IN (SELECT run_id FROM tags WHERE tag = {mark})", wanted.tag),
        ("{place_of}(model_key, {mark}) > 0", search_key(wanted.model)),
        ("{place_of}(backend_key, {mark}) = 1", search_key(wanted.backend)),
        ("outcome = {mark}", wanted.outcome),
        ("created >= {mark}", wanted.since),
        ("created <= {mark}", end_of(wanted.until) if wanted.until else None),
    ):
        if value is not None:
            terms.append(term)
            parameters.append(value)
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    query = f"SELECT {', '.join(COLUMNS)} FROM runs{where} ORDER BY {_ORDERS[wanted.order]}, id"  # noqa: S608 - no value in it
    query += " LIMIT {mark} OFFSET {mark}"
    parameters += [speech.no_limit if wanted.limit is None else wanted.limit, wanted.offset]
    return query.format(mark=speech.mark, place_of=speech.place_of), parameters


def row_values(row: RunRow) -> dict[str, Any]:
    """Return what the table of runs holds of a row."""
    values = {name: _storable(getattr(row, name)) for name in COLUMNS}
    return values | {
        "model_key": _storable(search_key(row.model)),
        "backend_key": _storable(search_key(row.backend)),
    }


def _storable(value: Any) -> Any:
    """Return a value without the character that ends a text in PostgreSQL."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


_BUSY_TIMEOUT_S = 1.0


def quick_rows(
    file: Path, names: Collection[str] | None, wanted: Filter
) -> tuple[RunRow, ...] | None:
    """Return the rows that fit, the newest first, if the database is of just these runs.

    Args:
        names: Of all runs there are; ``None``: the database is the store itself.

    Returns:
        ``None``: it is missing, another version's, damaged, locked, or behind.
    """
    try:
        with closing(_opened(file)) as connection:
            if not _is_current(connection):
                return None
            if names is not None:
                known = {one for (one,) in connection.execute("SELECT id FROM runs")}
                if len(known) != len(names) or not known.issuperset(names):
                    return None
            return find_rows(connection.execute, wanted, SQLITE)
    except (sqlite3.Error, ValueError, TypeError):
        return None


def quick_add(file: Path, row: RunRow) -> bool:
    """Insert the row of a run; one that is there may be newer, and stays.

    Returns:
        Whether it is there now; not if the index is missing, another version's, damaged or locked.
    """
    values = row_values(row)
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    query = f"INSERT OR IGNORE INTO runs ({names}) VALUES ({marks})"  # noqa: S608 - no value in it
    try:
        with closing(_opened(file, "BEGIN IMMEDIATE")) as connection:
            if not _is_current(connection):
                return False
            if connection.execute(query, [*values.values()]).rowcount:
                tags = [(row.id, tag) for tag in dict.fromkeys(row.tags)]
                connection.executemany("INSERT INTO tags (run_id, tag) VALUES (?, ?)", tags)
            connection.commit()
            return True
    except (sqlite3.Error, ValueError, TypeError):
        return False


def _opened(file: Path, begin: str = "BEGIN") -> sqlite3.Connection:
    uri = f"{file.absolute().as_uri()}?mode=rw"  # never made by asking
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT_S)
    try:
        connection.execute(begin)  # one state of it for all questions
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _is_current(connection: sqlite3.Connection) -> bool:
    version: tuple[str] | None
    version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return version == (HEAD,)


_TIMEOUT_S = 10


def quick_database_rows(url: DatabaseUrl, wanted: Filter) -> tuple[RunRow, ...] | None:
    """Return the rows that fit, the newest first.

    Returns:
        ``None``: the URL has options or a host of an unusual kind, the driver or the file is
        missing, or the tables are of another version.
    """
    if url.file is None:
        return _of_server(url, wanted)
    return quick_rows(url.file, None, wanted) if "?" not in url.secret_url else None


def _of_server(url: DatabaseUrl, wanted: Filter) -> tuple[RunRow, ...] | None:
    try:
        import psycopg

        named = _named(url.secret_url)
    except (ImportError, ValueError):
        return None
    if named is None:
        return None
    try:
        opened = psycopg.connect(**named, connect_timeout=_TIMEOUT_S, autocommit=True)
    except psycopg.Error as error:
        why = without_password(str(error).strip())
        raise StoreError(f"the store {url}", why=why) from error
    try:
        with opened:
            version = opened.execute("SELECT version_num FROM alembic_version").fetchone()
            if version != (HEAD,):
                return None
            return find_rows(lambda q, values: opened.execute(q.encode(), values), wanted, POSTGRES)
    except (psycopg.Error, ValueError, TypeError):
        return None


def _named(url: str) -> dict[str, Any] | None:
    """Return what a URL says, by libpq's names; what it does not say is left to libpq.

    ``None``: it says more, of which SQLAlchemy and libpq do not understand everything alike.
    """
    parts = urlsplit(url)
    if parts.query or parts.fragment or {",", "%", "["} & set(parts.netloc.rpartition("@")[2]):
        return None
    said = {
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "host": parts.hostname,
        "port": parts.port,
        "dbname": unquote(parts.path.removeprefix("/")),
    }
    return {name: value for name, value in said.items() if value}
