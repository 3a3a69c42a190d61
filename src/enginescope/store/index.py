"""The index of runs: SQLite by default, any database SQLAlchemy speaks to by URL.

A cache. The folders are the truth, and `enginescope.store.listing` makes it again from them.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError

from enginescope.core.errors import StoreError
from enginescope.store.index_error import DamagedIndexError, NewerIndexError
from enginescope.store.lock import locked
from enginescope.store.migrations import upgrade
from enginescope.store.row import Filter, RunRow
from enginescope.store.schema import RUNS, TAGS
from enginescope.store.sqlite_file import companions, is_there, move_away

#: The newest migration under ``migrations/versions``; a test holds the two together.
HEAD = "0001"
FILE = "index.sqlite"
_BUSY_TIMEOUT_S = 10.0
#: Ids in one statement; databases bound the number of parameters.
_CHUNK = 500
#: What SQLite says of a file that is a database, but not as we left it.
_DAMAGE = ("no such table", "no such column", "has no column", "already exists", "not decode")


class Index:
    """Rows of runs. `prepare` comes first.

    Parameters
    ----------
    url : str or sqlalchemy.URL
        Where the database is.
    """

    def __init__(self, url: str | sa.URL) -> None:
        location = sa.make_url(url)
        options: dict[str, Any] = {}
        self._file: Path | None = None
        if location.get_backend_name() == "sqlite":
            options = {"connect_args": {"timeout": _BUSY_TIMEOUT_S}, "poolclass": sa.NullPool}
            self._file = Path(location.database or "")
        self._engine = sa.create_engine(location, **options)

    @classmethod
    def in_folder(cls, folder: Path) -> Index:
        """Return the SQLite index beside the runs."""
        return cls(sa.URL.create("sqlite", database=str(folder / FILE)))

    def prepare(self) -> None:
        """Create the tables, or bring older ones up, empty; quick when there is nothing to do.

        Raises
        ------
        DamagedIndexError, NewerIndexError
        StoreError
            The database cannot be reached or written.
        """
        if self._is_current():
            return
        if self._file is None:
            self._migrate()
            return
        with locked(self._file.parent, "index"):
            if self._is_current():  # another process was first
                return
            if is_there(self._file):
                self._migrate()
            else:
                _create(self._file)

    def set_aside(self) -> None:
        """Move a damaged SQLite file away; another database has nothing to move.

        A file that turns out to be sound, because another process has mended it, stays.
        """
        if self._file is None:
            return
        with locked(self._file.parent, "index"):
            if not self._is_sound():
                move_away(self._file)

    def add(self, rows: Iterable[RunRow]) -> None:
        """Insert the rows of runs that have none; one that is there may be newer, and stays."""
        with self._write() as connection:
            known = set(connection.execute(sa.select(RUNS.c.id)).scalars())
            _put(connection, [row for row in rows if row.id not in known])

    def put(self, rows: Iterable[RunRow]) -> None:
        """Insert or replace rows."""
        with self._write() as connection:
            _put(connection, rows)

    def replace(self, rows: Iterable[RunRow]) -> None:
        """Put `rows` in the place of all there are; a reader sees the old ones or the new."""
        with self._write() as connection:
            _clear(connection)
            _put(connection, rows)

    def remove(self, ids: Iterable[str]) -> None:
        """Forget runs."""
        with self._write() as connection:
            _forget(connection, list(ids))

    def ids(self) -> set[str]:
        """Return the ids of all runs."""
        with self._read() as connection:
            return set(connection.execute(sa.select(RUNS.c.id)).scalars())

    def rows(self, wanted: Filter | None = None) -> tuple[RunRow, ...]:
        """Return the rows that fit, the newest first."""
        query = _query(wanted or Filter())
        with self._read() as connection:
            found = connection.execute(query).mappings().all()
            tags = _tags_of(connection, [row["id"] for row in found])
        return tuple(RunRow(**row, tags=tags.get(row["id"], ())) for row in found)

    def close(self) -> None:
        """Give connections back."""
        self._engine.dispose()

    def _is_current(self) -> bool:
        if self._file is not None and not is_there(self._file):
            return False  # asking would create it
        with self._read() as connection:
            if not sa.inspect(connection).has_table("alembic_version"):
                return False
            version = connection.execute(sa.text("SELECT version_num FROM alembic_version"))
            found = version.scalar()
        if found is not None and found > HEAD:
            raise NewerIndexError(
                "the index of runs",
                why=f"it is of version {found}, this enginescope knows up to {HEAD}",
                hint="install a newer enginescope, or make it again: enginescope runs reindex",
            )
        return bool(found == HEAD)

    def _is_sound(self) -> bool:
        try:
            with self._read() as connection:
                connection.execute(RUNS.select().limit(1)).all()
                connection.execute(TAGS.select().limit(1)).all()
                checked = connection.exec_driver_sql("PRAGMA quick_check").scalar()
            return self._is_current() and checked == "ok"
        except (DamagedIndexError, NewerIndexError):
            return False

    def _migrate(self) -> None:
        with self._write() as connection:
            upgrade(connection)
            _clear(connection)  # rows of an older schema lack what the newer one added

    @contextmanager
    def _write(self) -> Iterator[sa.Connection]:
        with _named_errors(), self._engine.begin() as connection:
            _lock(connection)
            yield connection

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        with _named_errors(), self._engine.connect() as connection:
            yield connection


@contextmanager
def _named_errors() -> Iterator[None]:
    try:
        yield
    except DatabaseError as error:
        message = str(error.orig)
        # SQLite's own "file is not a database" and "malformed" come as the base class
        is_damage = type(error) is DatabaseError or any(part in message for part in _DAMAGE)
        kind = DamagedIndexError if is_damage else StoreError
        raise kind("the index of runs", why=message) from error


def _create(file: Path) -> None:
    """Make a fresh database beside its place and rename it: nobody meets it half made."""
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    fresh = Index(sa.URL.create("sqlite", database=str(part)))
    try:
        with _named_errors(), fresh._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")  # readers go on while one writes
        fresh._migrate()
        for stray in companions(file):  # of a database that is gone: SQLite would replay it
            stray.unlink(missing_ok=True)
        part.replace(file)
    except OSError as error:
        raise StoreError("the index of runs", why=str(error)) from error
    finally:
        fresh.close()
        for left in (part, *companions(part)):
            left.unlink(missing_ok=True)


def _query(wanted: Filter) -> sa.Select[Any]:
    query = sa.select(RUNS).order_by(RUNS.c.created.desc(), RUNS.c.id)
    if wanted.tag is not None:
        query = query.join(TAGS, TAGS.c.run_id == RUNS.c.id).where(TAGS.c.tag == wanted.tag)
    if wanted.model is not None:
        query = query.where(RUNS.c.model.icontains(wanted.model, autoescape=True))
    if wanted.backend is not None:
        query = query.where(RUNS.c.backend.istartswith(wanted.backend, autoescape=True))
    if wanted.outcome is not None:
        query = query.where(RUNS.c.outcome == wanted.outcome)
    return query if wanted.limit is None else query.limit(wanted.limit)


def _tags_of(connection: sa.Connection, ids: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the tags of runs; asked for all at once where there are many runs."""
    query = sa.select(TAGS.c.run_id, TAGS.c.tag).order_by(TAGS.c.tag)
    if len(ids) <= _CHUNK:
        query = query.where(TAGS.c.run_id.in_(ids))
    found: dict[str, tuple[str, ...]] = {}
    for run_id, tag in connection.execute(query):
        found[run_id] = (*found.get(run_id, ()), tag)
    return found


def _put(connection: sa.Connection, rows: Iterable[RunRow]) -> None:
    unique = {row.id: row for row in rows}
    if not unique:
        return
    _forget(connection, list(unique))
    columns = [column.name for column in RUNS.columns]
    values = [{name: getattr(row, name) for name in columns} for row in unique.values()]
    connection.execute(RUNS.insert(), values)
    tags = [
        {"run_id": row.id, "tag": tag} for row in unique.values() for tag in dict.fromkeys(row.tags)
    ]
    if tags:
        connection.execute(TAGS.insert(), tags)


def _forget(connection: sa.Connection, ids: list[str]) -> None:
    for start in range(0, len(ids), _CHUNK):
        some = ids[start : start + _CHUNK]
        connection.execute(TAGS.delete().where(TAGS.c.run_id.in_(some)))
        connection.execute(RUNS.delete().where(RUNS.c.id.in_(some)))


def _clear(connection: sa.Connection) -> None:
    connection.execute(TAGS.delete())
    connection.execute(RUNS.delete())


def _lock(connection: sa.Connection) -> None:
    """Take the write lock first: a read that turns into a write can be refused instead of wait."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
