"""The index of runs: SQLite by default, any database SQLAlchemy speaks to by URL.

A cache. The folders are the truth, and `enginescope.store.sql.listing` makes it again from them.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path

import sqlalchemy as sa

from enginescope.core.errors import StoreError
from enginescope.store.row import Filter, RunRow
from enginescope.store.run_names import locked
from enginescope.store.sql.database import (
    Database,
    all_ids,
    clear_rows,
    forget_rows,
    put_rows,
    select_rows,
)
from enginescope.store.sql.migrations import HEAD
from enginescope.store.sql.sqlite_file import (
    FILE,
    DamagedIndexError,
    companions,
    is_there,
    move_away,
)

_WHAT = "the index of runs"


class Index:
    """Rows of runs. `prepare` comes first.

    Args:
        url: Where the database is.
    """

    def __init__(self, url: str | sa.URL) -> None:
        self._database = Database(url, what=_WHAT)

    @classmethod
    def in_folder(cls, folder: Path) -> Index:
        """Return the SQLite index beside the runs."""
        return cls(sa.URL.create("sqlite", database=str(folder / FILE)))

    def prepare(self) -> None:
        """Create the tables, or bring older ones up, empty; quick when there is nothing to do."""
        file = self._database.file
        if file is not None and file.exists() and not file.is_file():
            raise DamagedIndexError(_WHAT, why=f"{file} is not a file")
        if self._database.version() == HEAD:
            return
        if file is None:
            _migrate(self._database)
            return
        with locked(file.parent, "index"):
            if self._database.version() == HEAD:  # another process was first
                return
            if is_there(file):
                _migrate(self._database)
            else:
                _create(file)

    def set_aside(self, *, in_any_case: bool = False) -> None:
        """Move a damaged SQLite file away; another database has nothing to move.

        Args:
            in_any_case: Also a file that looks sound, for example because another process has
                mended it.
        """
        file = self._database.file
        if file is None:
            return
        with locked(file.parent, "index"):
            if in_any_case or not self._database.is_sound():
                move_away(file)

    def add(self, rows: Iterable[RunRow]) -> None:
        """Insert the rows of runs that have none; one that is there may be newer, and stays."""
        with self._database.write() as connection:
            known = all_ids(connection)
            put_rows(connection, [row for row in rows if row.id not in known])

    def put(self, rows: Iterable[RunRow]) -> None:
        with self._database.write() as connection:
            put_rows(connection, rows)

    def replace(self, rows: Iterable[RunRow]) -> None:
        """Put `rows` in the place of all there are; a reader sees the old ones or the new."""
        with self._database.write() as connection:
            clear_rows(connection)
            put_rows(connection, rows)

    def remove(self, ids: Iterable[str]) -> None:
        with self._database.write() as connection:
            forget_rows(connection, list(ids))

    def ids(self) -> set[str]:
        with self._database.read() as connection:
            return all_ids(connection)

    def rows(self, wanted: Filter | None = None) -> tuple[RunRow, ...]:
        with self._database.read() as connection:
            return select_rows(connection, wanted or Filter())

    def close(self) -> None:
        self._database.close()


def _migrate(database: Database) -> None:
    with database.write() as connection:
        if database.migrate(connection):
            clear_rows(connection)  # rows of an older schema lack what the newer one added


def _create(file: Path) -> None:
    """Make a fresh database beside its place and rename it: nobody meets it half made."""
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    fresh = Database(sa.URL.create("sqlite", database=str(part)), what=_WHAT)
    try:
        fresh.write_ahead()
        _migrate(fresh)
        for stray in companions(file):  # of a database that is gone: SQLite would replay it
            stray.unlink(missing_ok=True)
        part.replace(file)
    except OSError as error:
        raise StoreError(_WHAT, why=str(error)) from error
    finally:
        fresh.close()
        for left in (part, *companions(part)):
            left.unlink(missing_ok=True)
