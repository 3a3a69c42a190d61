"""A database with the tables of runs, and the index of runs: SQLite, or PostgreSQL.

Tables of a store's database.

Beside a folder of runs only `RUNS` and `TAGS` are filled: a cache over the folders. Where the
database is the store, `FILES` holds what the folders would.

A cache. The folders are the truth, and `enginescope.store.sql.index_repair` repairs it from them.
"""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Float, Integer, LargeBinary, MetaData, String, Table
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError, SQLAlchemyError

from enginescope.core.errors import MissingDependencyError, StoreError
from enginescope.core.process_control import deferred_signals
from enginescope.store.location import without_password
from enginescope.store.row import Filter, RunRow
from enginescope.store.run_names import locked
from enginescope.store.sql import sqlite_file
from enginescope.store.sql.migrations import HEAD, upgrade
from enginescope.store.sql.quick_rows import CHUNK, POSTGRES, SQLITE, find_rows, row_values

METADATA = MetaData()
#: PostgreSQL would compare texts by the rules of a language.
_TEXT = String().with_variant(String(collation="C"), "postgresql")
_ID = String(64).with_variant(String(collation="C"), "postgresql")

RUNS = Table(
    "runs",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("created", _TEXT, nullable=False, index=True),
    Column("origin", String, nullable=False),
    Column("model", _TEXT, nullable=False, index=True),
    Column("model_sha256", String),
    Column("backend", String, nullable=False),
    Column("precision", String),
    Column("outcome", _TEXT, nullable=False, index=True),
    Column("batch", BigInteger),
    Column("metric", String),
    Column("samples", Integer),
    # numpy.median of the headline's samples, for listings; the samples are the truth
    Column("median_ms", Float),
    Column("host", String),
    Column("cpu", String),
    Column("gpu", String),
    Column("size_bytes", BigInteger),
    # names as they are looked for, see `search_key`
    Column("model_key", _TEXT),
    Column("backend_key", _TEXT),
)

TAGS = Table(
    "tags",
    METADATA,
    Column("run_id", _ID, primary_key=True),
    Column("tag", _TEXT, primary_key=True, index=True),
)

#: A run's folder, file by file; without `data` where artifacts are kept elsewhere.
FILES = Table(
    "files",
    METADATA,
    Column("run_id", _ID, primary_key=True),
    Column("path", _TEXT, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("data", LargeBinary),
)

#: Of a suite: its plan, and the lease of who runs it.
SUITES = Table(
    "suites",
    METADATA,
    Column("name", String, primary_key=True),
    Column("plan", LargeBinary, nullable=False),
    # grows with every row and plan, so that who has it need not read them again
    Column("number", BigInteger, nullable=False),
    Column("owner", String),
    Column("token", String),
    # Unix time, s
    Column("renewed", Float),
    Column("expires", Float),
)

#: Of each cell of a suite, the row that ended last; `number` is the suite's when it was written.
SUITE_ROWS = Table(
    "suite_rows",
    METADATA,
    Column("suite", String, primary_key=True),
    Column("cell", String, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("ended", String, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

#: What everybody who uses the database must agree on.
SETTINGS = Table(
    "settings",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", String, nullable=False),
)

#: Alembic's own: the newest migration that was run.
_VERSION = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))

BUSY_TIMEOUT_S = 10.0
#: Of a PostgreSQL server that vanished: in s, but for the last.
_TIMEOUTS = {
    "connect_timeout": int(BUSY_TIMEOUT_S),
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
#: What SQLite says where the file is not at fault; whatever else it says of an index is damage.
_SURROUNDINGS = ("locked", "busy", "readonly", "read-only", "unable to open", "is full")
#: Held while the tables are made; any number, the same for everybody.
_MIGRATION_LOCK = 7_301_947


class Database:
    """Connections to a database, each for one transaction; those to a server are kept open.

    Args:
        what: How errors name it.
    """

    def __init__(self, url: str | sa.URL, *, what: str) -> None:
        self.what = what
        try:
            location = sa.make_url(url)
            is_file = location.get_backend_name() == "sqlite"
            self.file = Path(location.database or "") if is_file else None
            # a connection to a server costs as much as ten questions; one that the server has
            # closed is opened anew
            pool: dict[str, Any] = {"poolclass": sa.QueuePool, "pool_pre_ping": True}
            timeouts = {key: limit for key, limit in _TIMEOUTS.items() if key not in location.query}
            if is_file:
                pool, timeouts = {"poolclass": sa.NullPool}, {"timeout": int(BUSY_TIMEOUT_S)}
            self._engine = sa.create_engine(
                location, hide_parameters=True, connect_args=timeouts, **pool
            )
        except (ArgumentError, NoSuchModuleError, ValueError) as error:
            # the message may hold the URL, and the URL a password
            raise StoreError(self.what, why="its URL cannot be understood") from (
                None if isinstance(url, str) else error
            )
        except ModuleNotFoundError as error:
            what, why = f"Python package {error.name} is not available", f"{self.what} needs it"
            hint = "pip install 'enginescope[postgres]'"
            raise MissingDependencyError(what, why=why, hint=hint) from error
        weakref.finalize(self, deferred_signals()(self._engine.dispose))

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        with deferred_signals(), self._named_errors(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Open a transaction: all of it is written in the end, or nothing."""
        with deferred_signals(), self._named_errors(), self._engine.begin() as connection:
            if connection.dialect.name == "sqlite":
                # the lock first: a read that turns into a write can be refused instead of wait
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    def write_ahead(self) -> None:
        """Let readers of a fresh SQLite file go on while one writes."""
        with self.read() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")

    def version(self) -> str | None:
        """Return the newest migration that was run, if any."""
        if self.file is not None and not sqlite_file.is_there(self.file):
            return None  # asking would create it
        with self.read() as connection:
            return self._version_in(connection)

    def migrate(self, connection: sa.Connection) -> bool:
        """Bring the tables to the newest migration, within a transaction of `write`.

        An empty database gets them as they are today, without Alembic, whose start takes as long as
        that of all else.

        Returns:
            Whether there was something to do: another process may have been first.
        """
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        if self._version_in(connection) == HEAD:
            return False
        if sa.inspect(connection).get_table_names():
            upgrade(connection)
        else:
            METADATA.create_all(connection)
            _VERSION.create(connection)
            connection.execute(_VERSION.insert().values(version_num=HEAD))
        return True

    def _version_in(self, connection: sa.Connection) -> str | None:
        if not sa.inspect(connection).has_table("alembic_version"):
            return None
        version = connection.execute(sa.text("SELECT version_num FROM alembic_version"))
        found: str | None = version.scalar()
        if found is not None and found > HEAD:
            why = f"it is of version {found}, this enginescope knows up to {HEAD}"
            hint = "install a newer enginescope, or make it again: enginescope runs reindex"
            raise sqlite_file.NewerIndexError(self.what, why=why, hint=hint)
        return found

    def is_sound(self) -> bool:
        """Whether a SQLite file can be read through and has the tables."""
        try:
            with self.read() as connection:
                connection.execute(RUNS.select()).all()
                connection.execute(TAGS.select()).all()
                checked = connection.exec_driver_sql("PRAGMA quick_check").scalar()
            return self.version() == HEAD and checked == "ok"
        except (sqlite_file.DamagedIndexError, sqlite_file.NewerIndexError):
            return False

    @deferred_signals()
    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except DatabaseError as error:
            message = without_password(str(error.orig).strip())
            is_damage = self.file is not None and not any(part in message for part in _SURROUNDINGS)
            kind = sqlite_file.DamagedIndexError if is_damage else StoreError
            raise kind(self.what, why=message) from error
        except (SQLAlchemyError, LookupError, TypeError, ValueError) as error:
            # a text that is not UTF-8, a value of another type, two rows of one id
            if self.file is None:
                raise
            raise sqlite_file.DamagedIndexError(
                self.what, why=str(error).partition("\n")[0]
            ) from error


def all_ids(connection: sa.Connection) -> set[str]:
    return set(connection.execute(sa.select(RUNS.c.id)).scalars())


def select_rows(connection: sa.Connection, wanted: Filter) -> tuple[RunRow, ...]:
    speech = POSTGRES if connection.dialect.name == "postgresql" else SQLITE

    def execute(query: str, values: list[Any]) -> Iterable[Any]:
        return connection.exec_driver_sql(query, tuple(values))

    return find_rows(execute, wanted, speech)


def put_rows(connection: sa.Connection, rows: Iterable[RunRow]) -> None:
    if not (unique := {row.id: row for row in rows}):
        return
    forget_rows(connection, list(unique))
    connection.execute(RUNS.insert(), [row_values(row) for row in unique.values()])
    tags = [
        {"run_id": row.id, "tag": tag} for row in unique.values() for tag in dict.fromkeys(row.tags)
    ]
    if tags:
        connection.execute(TAGS.insert(), tags)


def forget_rows(connection: sa.Connection, ids: list[str]) -> None:
    for start in range(0, len(ids), CHUNK):
        some = ids[start : start + CHUNK]
        connection.execute(TAGS.delete().where(TAGS.c.run_id.in_(some)))
        connection.execute(RUNS.delete().where(RUNS.c.id.in_(some)))


def clear_rows(connection: sa.Connection) -> None:
    connection.execute(TAGS.delete())
    connection.execute(RUNS.delete())


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
        return cls(sa.URL.create("sqlite", database=str(folder / sqlite_file.FILE)))

    def prepare(self) -> None:
        """Create the tables, or bring older ones up, empty; quick when there is nothing to do."""
        file = self._database.file
        if file is not None and file.exists() and not file.is_file():
            raise sqlite_file.DamagedIndexError(_WHAT, why=f"{file} is not a file")
        if self._database.version() == HEAD:
            return
        if file is None:
            _migrate(self._database)
            return
        with locked(file.parent, "index"):
            if self._database.version() == HEAD:  # another process was first
                return
            if sqlite_file.is_there(file):
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
                sqlite_file.move_away(file)

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
        # of a database that is gone: SQLite would replay it
        for stray in sqlite_file.companions(file):
            stray.unlink(missing_ok=True)
        part.replace(file)
    except OSError as error:
        raise StoreError(_WHAT, why=str(error)) from error
    finally:
        fresh.close()
        for left in (part, *sqlite_file.companions(part)):
            left.unlink(missing_ok=True)
