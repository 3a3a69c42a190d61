"""Runs in a database: their files in a table, artifacts there too or in a place of their own."""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from enginescope.core.errors import MAKE_SPACE, StoreError, reason_of
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.notice import Notice
from enginescope.store.location import DatabaseUrl
from enginescope.store.row import Filter, RunRow, row_of
from enginescope.store.run_names import PART, check_id
from enginescope.store.sql.database import FILES, Database
from enginescope.store.sql.migrations import HEAD
from enginescope.store.sql.row_tables import all_ids, forget_rows, put_rows, select_rows
from enginescope.store.sql.sqlite_file import NewerIndexError, is_there

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.records.suite.suite_change import Lease, SuiteChange
    from enginescope.store.sql.scan import ReindexReport

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
        digest = hashlib.sha256(str(url).encode()).hexdigest()[:12]
        self._copies = local / _COPIES / digest
        self._database = Database(url.secret_url, what=f"the store {url}")
        self._is_ready = False
        self._notices: dict[str, Notice] = {}

    def __str__(self) -> str:
        """Return the URL without its password."""
        return str(self._url)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was wrong with runs so far, each once."""
        return tuple(self._notices.values())

    def names(self) -> tuple[str, ...]:
        """Return the ids of all runs."""
        with self._read() as connection:
            return tuple(sorted(all_ids(connection)))

    def unfinished(self) -> tuple[str, ...]:
        """Return nothing: a save is one transaction."""
        return ()

    def rows(self, wanted: Filter) -> tuple[RunRow, ...]:
        """Return the rows that fit, the newest first."""
        with self._read() as connection:
            return select_rows(connection, wanted)

    def state(self) -> Hashable | None:
        """Return ``None``: others change a database too."""
        return None

    def has(self, run_id: str) -> bool:
        """Whether a run of this id exists."""
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
        """Return a folder with a copy of all files of a run."""
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
            if _is_copy(target, found[_DOCUMENT]):
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
        """Raise `StoreError` unless the database can be written."""
        self._prepare()
        with self._database.write() as connection:
            connection.execute(FILES.delete().where(FILES.c.run_id == ""))

    def suite_home(self) -> Path:
        """Return a folder with copies of all suites, and what this machine adds to them."""
        from enginescope.store.sql.suite_tables import fetch_suites

        with self._read() as connection:
            fetch_suites(connection, self._copies)
        return self._copies

    def put_suite(self, name: str, change: SuiteChange) -> None:
        """Write parts of a suite to the database, beside what others wrote of it."""
        from enginescope.store.sql.suite_tables import put_suite

        self._prepare()
        with self._database.write() as connection:
            put_suite(connection, name, change)

    def suite_lease(self, name: str) -> Lease | None:
        """Return the lease of a suite."""
        from enginescope.store.sql.suite_tables import suite_lease

        with self._read() as connection:
            return suite_lease(connection, name)

    def suite_ended(self, name: str) -> dict[str, str]:
        """Return when the cells of a suite ended, by their keys."""
        from enginescope.store.sql.suite_tables import suite_ended

        with self._read() as connection:
            return suite_ended(connection, name)

    @contextmanager
    def new_part(self) -> Iterator[Path]:
        """Make a folder to write a run into, gone in the end."""
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
        """Change a run's tags, and return it."""
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
        """Delete a run, damaged too."""
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
        """Make all rows again from the runs; damaged runs are named and left out."""
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
            file = self._database.file
            if file is not None and not is_there(file):
                self._database.write_ahead()
            from enginescope.store.sql.run_files import rows_made_again

            with self._database.write() as connection:
                if self._database.migrate(connection):
                    # what a newer schema added is made from the runs
                    self._name_broken(rows_made_again(connection))
        self._is_ready = True

    def _name_broken(self, report: ReindexReport) -> None:
        for one in report.broken:
            message = f"Run {one.name} was skipped: {one.reason}."
            self._notices[one.name] = Notice(code="W-BROKEN-RUN", message=message)

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        self._prepare()
        with self._database.read() as connection:
            yield connection


def _is_copy(folder: Path, document: bytes | None) -> bool:
    file = folder / _DOCUMENT
    return file.is_file() and file.read_bytes() == document
