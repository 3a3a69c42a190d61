"""The index of runs: SQLite by default, any database SQLAlchemy speaks to by URL.

A cache. The folders are the truth, and `rebuild` makes it again from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, OperationalError

from enginescope.core.errors import StoreError
from enginescope.core.record import Record
from enginescope.store.row import RunRow
from enginescope.store.schema import RUNS, TAGS

#: The newest migration under ``migrations/versions``; a test holds the two together.
HEAD = "0001"
_BUSY_TIMEOUT_S = 30


class Filter(Record, frozen=True, kw_only=True):
    """What a listing asks for; ``None``: anything.

    Attributes
    ----------
    model : str or None
        A part of the model's name.
    """

    tag: str | None = None
    model: str | None = None
    backend: str | None = None
    outcome: str | None = None
    limit: int | None = None


class Index:
    """Rows of runs.

    Parameters
    ----------
    url : str
        SQLAlchemy's database URL.
    """

    def __init__(self, url: str) -> None:
        options: dict[str, Any] = {}
        if url.startswith("sqlite"):
            options = {"connect_args": {"timeout": _BUSY_TIMEOUT_S}, "poolclass": sa.NullPool}
        self._engine = sa.create_engine(url, **options)

    @classmethod
    def in_folder(cls, folder: Path) -> Index:
        """Return the SQLite index beside the runs."""
        return cls(f"sqlite:///{folder / 'index.sqlite'}")

    def prepare(self) -> bool:
        """Create the tables, or bring older ones up; quick when there is nothing to do.

        Returns
        -------
        bool
            Whether there were no tables before: the rows have to be made from the folders.

        Raises
        ------
        StoreError
            The database is damaged, or a newer enginescope has changed it.
        """
        try:
            version = self._version()
            if version == HEAD:
                return False
            with self._engine.connect() as connection:
                _write_ahead(connection)
            with self._engine.connect() as connection:
                _lock(connection)
                _migrate(connection)
                connection.commit()
            return version is None
        except DatabaseError as error:
            raise StoreError("the index of runs", why=str(error.orig)) from error

    def put(self, rows: Iterable[RunRow]) -> None:
        """Insert or replace rows."""
        with self._write() as connection:
            for row in rows:
                values = {name: getattr(row, name) for name in RUNS.columns.keys()}  # noqa: SIM118
                _forget(connection, row.id)
                connection.execute(RUNS.insert().values(**values))
                if row.tags:
                    tags = [{"run_id": row.id, "tag": tag} for tag in dict.fromkeys(row.tags)]
                    connection.execute(TAGS.insert(), tags)

    def remove(self, run_id: str) -> None:
        """Forget a run."""
        with self._write() as connection:
            _forget(connection, run_id)

    def clear(self) -> None:
        """Forget all runs."""
        with self._write() as connection:
            connection.execute(TAGS.delete())
            connection.execute(RUNS.delete())

    def rows(self, wanted: Filter | None = None) -> tuple[RunRow, ...]:
        """Return the rows that fit, the newest first."""
        query = _query(wanted or Filter())
        with self._read() as connection:
            found = connection.execute(query).mappings().all()
            ids = [row["id"] for row in found]
            tags = _tags_of(connection, ids)
        return tuple(RunRow(**row, tags=tags.get(row["id"], ())) for row in found)

    def close(self) -> None:
        """Give connections back."""
        self._engine.dispose()

    def _version(self) -> str | None:
        with self._engine.connect() as connection:
            try:
                return connection.execute(
                    sa.text("SELECT version_num FROM alembic_version")
                ).scalar()
            except OperationalError:  # a fresh database has no such table
                return None

    @contextmanager
    def _write(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                _lock(connection)
                yield connection
        except DatabaseError as error:
            raise StoreError("the index of runs", why=str(error.orig)) from error

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except DatabaseError as error:
            raise StoreError("the index of runs", why=str(error.orig)) from error


def _query(wanted: Filter) -> sa.Select[Any]:
    query = sa.select(RUNS).order_by(RUNS.c.created.desc(), RUNS.c.id)
    if wanted.tag is not None:
        query = query.join(TAGS, TAGS.c.run_id == RUNS.c.id).where(TAGS.c.tag == wanted.tag)
    if wanted.model is not None:
        query = query.where(RUNS.c.model.contains(wanted.model, autoescape=True))
    if wanted.backend is not None:
        query = query.where(RUNS.c.backend.startswith(wanted.backend, autoescape=True))
    if wanted.outcome is not None:
        query = query.where(RUNS.c.outcome == wanted.outcome)
    return query if wanted.limit is None else query.limit(wanted.limit)


def _tags_of(connection: sa.Connection, ids: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the tags of runs; asked for all at once where there are many runs."""
    query = sa.select(TAGS.c.run_id, TAGS.c.tag).order_by(TAGS.c.tag)
    if len(ids) <= 500:
        query = query.where(TAGS.c.run_id.in_(ids))
    found: dict[str, tuple[str, ...]] = {}
    for run_id, tag in connection.execute(query):
        found[run_id] = (*found.get(run_id, ()), tag)
    return found


def _forget(connection: sa.Connection, run_id: str) -> None:
    connection.execute(TAGS.delete().where(TAGS.c.run_id == run_id))
    connection.execute(RUNS.delete().where(RUNS.c.id == run_id))


def _write_ahead(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":  # readers go on while one writes
        connection.exec_driver_sql("PRAGMA journal_mode=WAL")


def _lock(connection: sa.Connection) -> None:
    """Take the write lock first: a read that turns into a write can be refused instead of wait."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _migrate(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
