"""Runs in a database: their files in a table, artifacts there too or in a place of their own."""

from __future__ import annotations

import hashlib
import secrets
import shutil
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from enginescope.core.errors import MAKE_SPACE, StoreError, reason_of
from enginescope.core.jsonio import decode, encode, write_atomic
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.notice import Notice
from enginescope.records.suite.suite import CellRow, Lease, SuiteChange, SuitePlan
from enginescope.store import suite_folder
from enginescope.store.location import DatabaseUrl
from enginescope.store.row import Filter, RunRow, row_of
from enginescope.store.run_names import PART, check_id, locked
from enginescope.store.sql.database import (
    FILES,
    SUITE_ROWS,
    SUITES,
    Database,
    all_ids,
    forget_rows,
    put_rows,
    select_rows,
)
from enginescope.store.sql.migrations import HEAD
from enginescope.store.sql.sqlite_file import NewerIndexError, is_there

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.store.run_folder import ReindexReport


#: In a copy of a suite: the number up to which it has the database's rows.
_FETCHED = ".fetched"


def put_suite(connection: sa.Connection, name: str, change: SuiteChange) -> None:
    """Write parts of a suite; of a cell, the row that ended last stays."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE suites IN EXCLUSIVE MODE")
    stored = connection.execute(sa.select(SUITES.c.number).where(SUITES.c.name == name)).scalar()
    if stored is None and change.plan is None:
        raise suite_folder.unknown_suite(name)
    now = _clock(connection)
    values: dict[str, object] = {}
    if change.claim is not None:
        lease = suite_folder.next_lease(suite_lease(connection, name), change.claim, now, name)
        values |= msgspec.structs.asdict(lease)
    if change.plan is not None or change.rows:
        # a suite that was deleted and begun again has another number than before
        values["number"] = number = max((stored or 0) + 1, int(now * 1000))
        _put_rows(connection, name, change.rows, number)
    if change.plan is not None:
        values["plan"] = encode(change.plan)
    if stored is None:
        connection.execute(SUITES.insert().values(name=name, **values))
    elif values:
        connection.execute(SUITES.update().where(SUITES.c.name == name).values(**values))


def suite_lease(connection: sa.Connection, name: str) -> Lease | None:
    """Return the lease of a suite; ``None``: there was none."""
    columns = [SUITES.c[field] for field in Lease.__struct_fields__]
    query = sa.select(*columns).where(SUITES.c.name == name, SUITES.c.owner.is_not(None))
    lease = connection.execute(query).mappings().first()
    return Lease(**lease) if lease is not None else None


def suite_ended(connection: sa.Connection, name: str) -> dict[str, str]:
    query = sa.select(SUITE_ROWS.c.cell, SUITE_ROWS.c.ended).where(SUITE_ROWS.c.suite == name)
    return {cell: ended for cell, ended in connection.execute(query)}  # noqa: C416 - rows


def fetch_suites(connection: sa.Connection, home: Path) -> None:
    """Bring ``home/suites`` up to what the database has; rows that only it has stay."""
    for name, number in connection.execute(sa.select(SUITES.c.name, SUITES.c.number)).all():
        folder = suite_folder.suite_at(home, name)
        if number != _fetched(folder):
            # one that runs here is up to date
            with suppress(suite_folder.SuiteRunsError), folder.held():
                _fetch(connection, folder, name)


def _fetch(connection: sa.Connection, folder: suite_folder.SuiteFolder, name: str) -> None:
    query = sa.select(SUITES.c.plan, SUITES.c.number).where(SUITES.c.name == name)
    plan, number = connection.execute(query).one()
    rows = sa.select(SUITE_ROWS.c.data).where(
        SUITE_ROWS.c.suite == name, SUITE_ROWS.c.number > _fetched(folder)
    )
    lines = b"\n".join(connection.execute(rows.order_by(SUITE_ROWS.c.number)).scalars())
    stored = decode(plan, SuitePlan, source=f"suite {name}")
    folder.put(SuiteChange(plan=stored, rows=tuple(suite_folder.rows_in(lines))))
    try:
        write_atomic(folder.path / _FETCHED, str(number).encode())
    except OSError as error:
        raise StoreError(f"cannot write {folder.path}", why=str(error)) from error


def _fetched(folder: suite_folder.SuiteFolder) -> int:
    try:
        return int((folder.path / _FETCHED).read_text()) if folder.exists else 0
    except (OSError, ValueError):
        return 0


def _put_rows(connection: sa.Connection, suite: str, rows: Sequence[CellRow], number: int) -> None:
    stored = suite_ended(connection, suite) if rows else {}
    newer = [row for row in rows if row.ended >= stored.get(row.cell.key, "")]
    for row in newer:
        is_it = (SUITE_ROWS.c.suite == suite, SUITE_ROWS.c.cell == row.cell.key)
        connection.execute(SUITE_ROWS.delete().where(*is_it))
        values = {"suite": suite, "cell": row.cell.key, "number": number, "ended": row.ended}
        connection.execute(SUITE_ROWS.insert().values(**values, data=msgspec.json.encode(row)))


def _clock(connection: sa.Connection) -> float:
    """Return the time of the database: Unix time, s. Clocks of machines differ."""
    if connection.dialect.name == "postgresql":
        query = sa.select(sa.func.extract("epoch", sa.func.clock_timestamp()))
        return float(connection.execute(query).scalar_one())
    return time.time()


# What reads and writes runs is imported where it is used: a listing needs none of it.

#: A run's own file.
_DOCUMENT = "run.json"
#: Copies of runs, under the folder of what is of this machine.
_COPIES = "copies"


class DatabaseStore:
    """The runs of a store that is a database; see `StoreBackend`.

    Args:
        local: This machine's folder: for copies of runs that are asked for as folders.
    """

    def __init__(self, url: DatabaseUrl, local: Path) -> None:
        self._url = url
        self._copies = local / _COPIES / hashlib.sha256(str(url).encode()).hexdigest()[:12]
        self._database = Database(url.secret_url, what=f"the store {url}")
        self._is_ready = False
        self._notices: dict[str, Notice] = {}

    def __str__(self) -> str:
        """Return the URL without its password."""
        return str(self._url)

    @property
    def notices(self) -> tuple[Notice, ...]:
        return tuple(self._notices.values())

    def names(self) -> tuple[str, ...]:
        with self._read() as connection:
            return tuple(sorted(all_ids(connection)))

    def unfinished(self) -> tuple[str, ...]:
        """Return nothing: a save is one transaction."""
        return ()

    def rows(self, wanted: Filter) -> tuple[RunRow, ...]:
        with self._read() as connection:
            return select_rows(connection, wanted)

    def state(self) -> Hashable | None:
        """Return ``None``: others change a database too."""
        return None

    def has(self, run_id: str) -> bool:
        from enginescope.store.sql.run_files import has_run

        with self._read() as connection:
            return has_run(connection, run_id)

    def id_at(self, folder: Path) -> str | None:
        """Return the id of the run that a folder is a copy of."""
        return folder.name if folder.parent == self._copies else None

    def read(self, run_id: str, series: Sequence[str] | None = None) -> Run:
        """Return a run, all of its series, without its artifacts' contents."""
        from enginescope.store.sql.run_files import run_in

        del series

        with self._read() as connection:
            return run_in(connection, run_id)

    def folder(self, run_id: str) -> Path:
        from enginescope.store.sql.run_files import artifact_root, gone, write_file

        check_id(run_id)  # as it may come out of the database, and is part of a path here
        with self._read() as connection:
            query = sa.select(FILES.c.path, FILES.c.data).where(FILES.c.run_id == run_id)
            found = {path: data for path, data in connection.execute(query)}  # noqa: C416 - rows
            root = artifact_root(connection)
        if _DOCUMENT not in found:
            raise gone(run_id)
        target = self._copies / run_id
        part = self._copies / f"{PART}{secrets.token_hex(6)}"
        try:
            document = target / _DOCUMENT
            if document.is_file() and document.read_bytes() == found[_DOCUMENT]:
                return target
            for path, data in found.items():
                if data is None and root is not None:
                    write_file(part, path, root.read(f"{run_id}/{path}"))
                else:
                    write_file(part, path, data or b"")
            shutil.rmtree(target, ignore_errors=True)
            with suppress(FileExistsError):  # another process was first
                part.rename(target)
        except OSError as error:
            raise StoreError(f"cannot copy run {run_id} to {target}", why=str(error)) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return target

    def check_writable(self) -> None:
        self._prepare()
        with self._database.write() as connection:
            connection.execute(FILES.delete().where(FILES.c.run_id == ""))

    def suite_home(self) -> Path:
        """Return a folder with copies of all suites, and what this machine adds to them."""
        with self._read() as connection:
            fetch_suites(connection, self._copies)
        return self._copies

    def put_suite(self, name: str, change: SuiteChange) -> None:
        self._prepare()
        with self._database.write() as connection:
            put_suite(connection, name, change)

    def suite_lease(self, name: str) -> Lease | None:
        with self._read() as connection:
            return suite_lease(connection, name)

    def suite_ended(self, name: str) -> dict[str, str]:
        with self._read() as connection:
            return suite_ended(connection, name)

    @contextmanager
    def new_part(self) -> Iterator[Path]:
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(temporary_folder())
            except OSError as error:
                what = f"cannot write to the store {self}"
                raise StoreError(what, why=reason_of(error), hint=MAKE_SPACE) from error
            yield folder

    def place(self, run: Run, part: Path) -> None:
        """Take up the run written in `part`: all of it, or nothing."""
        from enginescope.store.sql.run_files import agreed_root, insert_file, size_of_run

        self._prepare()
        files = {
            one.relative_to(part).as_posix(): one
            for one in sorted(part.rglob("*"))
            if one.is_file() and not one.is_symlink()
        }
        document = files.pop(_DOCUMENT)
        root = None
        try:
            with self._database.write() as connection:
                # first, so that who has written it is the only one who writes the others
                self._insert_document(connection, run.id, document.read_bytes())
                root = agreed_root(connection, run.id, self._url.artifacts)
                for path, file in files.items():
                    insert_file(connection, run.id, path, file.read_bytes(), root)
                put_rows(connection, [row_of(run, size_bytes=size_of_run(connection, run.id))])
        except BaseException:
            if root is not None:
                with suppress(StoreError):
                    root.remove(run.id)
            raise

    def retag(self, run_id: str, *, add: Iterable[str] = (), drop: Iterable[str] = ()) -> Run:
        from enginescope.store.run_folder import changed_tags, read_run, rewrite
        from enginescope.store.sql.run_files import document_and_arrays, document_of, size_of_run

        self._prepare()
        with (
            self._database.write() as connection,
            document_and_arrays(connection, run_id, locked=True) as folder,
        ):
            tags = changed_tags(read_run(folder, source=f"run {run_id}").tags, add, drop)
            run = rewrite(folder, tags=tags)
            data = (folder / _DOCUMENT).read_bytes()
            changed = FILES.update().where(*document_of(run_id))
            connection.execute(changed.values(data=data, size_bytes=len(data)))
            put_rows(connection, [row_of(run, size_bytes=size_of_run(connection, run_id))])
        return run

    def delete(self, run_id: str) -> None:
        from enginescope.store.sql.run_files import artifact_root

        check_id(run_id)
        self._prepare()
        with self._database.write() as connection:
            root = artifact_root(connection)
            deleted = connection.execute(FILES.delete().where(FILES.c.run_id == run_id)).rowcount
            forget_rows(connection, [run_id])
        if not deleted:
            raise StoreError(f"cannot delete run {run_id}", why="no run with that id")
        shutil.rmtree(self._copies / run_id, ignore_errors=True)
        if root is not None:
            root.remove(run_id)

    def reindex(self) -> ReindexReport:
        from enginescope.store.sql.run_files import rows_made_again

        self._prepare()
        with self._database.write() as connection:
            return rows_made_again(connection)

    def _insert_document(self, connection: sa.Connection, run_id: str, data: bytes) -> None:
        from enginescope.store.sql.run_files import has_run, insert_file

        is_taken = has_run(connection, run_id)
        try:
            if not is_taken:
                insert_file(connection, run_id, _DOCUMENT, data, None)
        except IntegrityError:  # another client has saved it since
            is_taken = True
        if is_taken:
            raise StoreError(f"cannot store run {run_id} in {self}", why="a run of this id exists")

    def _prepare(self) -> None:
        if self._is_ready:
            return
        try:
            version = self._database.version()
        except NewerIndexError as error:
            hint = "install a newer enginescope"
            raise StoreError(error.what, why=error.why, hint=hint) from error
        if version != HEAD:
            if (file := self._database.file) is not None:
                with locked(file.parent, file.name):  # SQLite refuses a second one, does not wait
                    if not is_there(file):
                        self._database.write_ahead()
            from enginescope.store.sql.run_files import rows_made_again

            with self._database.write() as connection:
                if self._database.migrate(connection):
                    # what a newer schema added is made from the runs
                    for run in rows_made_again(connection).broken:
                        message = f"Run {run.name} was skipped: {run.reason}."
                        self._notices[run.name] = Notice(code="W-BROKEN-RUN", message=message)
        self._is_ready = True

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        self._prepare()
        with self._database.read() as connection:
            yield connection
