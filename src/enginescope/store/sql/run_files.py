"""A run's folder as rows of a table, within the caller's transaction."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import sqlalchemy as sa

from enginescope.core import optional
from enginescope.core.errors import (
    MAKE_SPACE,
    EnginescopeError,
    FormatError,
    StoreError,
    UsageError,
    reason_of,
)
from enginescope.core.jsonio import write_atomic
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.run.run import Run
from enginescope.store.location import without_password
from enginescope.store.row import row_of
from enginescope.store.run_folder import ARTIFACTS, DOCUMENT, Broken, ReindexReport, read_run
from enginescope.store.sql.database import FILES, SETTINGS, clear_rows, put_rows

#: Names a folder or a URL for artifacts to the first who writes; then it is in the database.
ARTIFACTS_VARIABLE = "ENGINESCOPE_ARTIFACTS"
_ARTIFACTS_SETTING = "artifacts"


def document_of(run_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    return FILES.c.run_id == run_id, FILES.c.path == DOCUMENT


def has_run(connection: sa.Connection, run_id: str) -> bool:
    found = connection.execute(sa.select(FILES.c.path).where(*document_of(run_id)))
    return found.first() is not None


def gone(run_id: str) -> StoreError:
    return StoreError(f"run {run_id}", why="it was deleted while it was read")


def run_in(connection: sa.Connection, run_id: str) -> Run:
    with document_and_arrays(connection, run_id) as folder:
        run = read_run(folder, source=f"run {run_id}")
    if run.id != run_id:
        source = f"run {run_id}"
        raise FormatError(source, where="id", why=f"it is {run.id!r}", expected=repr(run_id))
    return run


@contextmanager
def document_and_arrays(
    connection: sa.Connection, run_id: str, *, locked: bool = False
) -> Iterator[Path]:
    """Write a run's document and arrays to a folder that is gone in the end.

    Args:
        locked: Whether the run stays as it is until the transaction ends.
    """
    query = sa.select(FILES.c.path, FILES.c.data).where(
        FILES.c.run_id == run_id, FILES.c.path.not_like(f"{ARTIFACTS}/%")
    )
    found = connection.execute(query.with_for_update() if locked else query).all()
    if not found:
        raise gone(run_id)
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder())
            for path, data in found:
                write_file(folder, path, data or b"")
        except OSError as error:
            raise StoreError(f"run {run_id}", why=reason_of(error), hint=MAKE_SPACE) from error
        yield folder


def write_file(folder: Path, path: str, data: bytes) -> None:
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or path.startswith("/"):
        raise FormatError(path, why="a path that leads out of the run's folder")
    target = folder.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def insert_file(
    connection: sa.Connection, run_id: str, path: str, data: bytes, root: ArtifactRoot | None
) -> None:
    """Insert a run's file; artifacts go to `root`, if there is one."""
    kept: bytes | None = data
    if root is not None and path.startswith(f"{ARTIFACTS}/"):
        root.write(f"{run_id}/{path}", data)
        kept = None
    connection.execute(
        FILES.insert().values(run_id=run_id, path=path, size_bytes=len(data), data=kept)
    )


def artifact_root(connection: sa.Connection) -> ArtifactRoot | None:
    query = sa.select(SETTINGS.c.value).where(SETTINGS.c.name == _ARTIFACTS_SETTING)
    found = connection.execute(query).scalar()
    return ArtifactRoot(found) if found else None


def agreed_root(connection: sa.Connection, run_id: str, named: str | None) -> ArtifactRoot | None:
    """Return where artifacts go; what is named is agreed on with the first run.

    Args:
        run_id: The run that is being saved.
        named: By the store's URL; else the environment may name a place.
    """
    agreed = artifact_root(connection)
    named = named or os.environ.get(ARTIFACTS_VARIABLE)
    if not named:
        return agreed
    wanted = ArtifactRoot(named)
    if agreed is None:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("LOCK TABLE settings IN EXCLUSIVE MODE")
        agreed = artifact_root(connection)  # another client may have been first
    others = sa.select(FILES.c.path).where(FILES.c.run_id != run_id).limit(1)
    if agreed is None and connection.execute(others).first() is None:
        connection.execute(SETTINGS.insert().values(name=_ARTIFACTS_SETTING, value=wanted.where))
        return wanted
    if agreed is None or agreed.where != wanted.where:
        what = f"artifacts in {wanted.where}"
        why = f"those of this store are in {agreed.where if agreed else 'the database'}"
        raise StoreError(what, why=why, hint=f"omit ?artifacts=, or {ARTIFACTS_VARIABLE}")
    return agreed


def size_of_run(connection: sa.Connection, run_id: str) -> int:
    query = sa.select(sa.func.sum(FILES.c.size_bytes)).where(FILES.c.run_id == run_id)
    return int(connection.execute(query).scalar() or 0)


def rows_made_again(connection: sa.Connection) -> ReindexReport:
    """Make the rows of all runs from their files."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyway
        connection.exec_driver_sql("LOCK TABLE files, runs, tags IN SHARE ROW EXCLUSIVE MODE")
    ids = connection.execute(sa.select(FILES.c.run_id).distinct()).scalars().all()
    rows, broken = [], []
    for run_id in sorted(ids):
        try:
            run = run_in(connection, run_id)
        except (FormatError, StoreError) as error:
            broken.append(Broken(name=run_id, reason=str(error)))
            continue
        rows.append(row_of(run, size_bytes=size_of_run(connection, run_id)))
    clear_rows(connection)
    put_rows(connection, rows)
    return ReindexReport(indexed=len(rows), broken=tuple(broken))


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::?//|[A-Za-z][A-Za-z0-9+.-]*::")
_CREDENTIALS = re.compile(r"://[^/\s]*@")


class ArtifactRoot:
    """Files by names with slashes, below a folder or a URL.

    Args:
        where: A folder's path, or a URL as ``s3://bucket/folder``.
    """

    def __init__(self, where: str) -> None:
        if _CREDENTIALS.search(where):
            what = f"artifacts in {without_password(where)}"
            hint = "set them as the environment variables of its kind of storage"
            raise UsageError(what, why="a URL with credentials in it would be stored", hint=hint)
        self.is_url = _URL.match(where) is not None
        self.where = where.rstrip("/") if self.is_url else str(Path(where).expanduser().absolute())

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all where the storage can."""
        with self._reached("write", name) as (files, path):
            if files is not None:
                files.makedirs(path.rpartition("/")[0], exist_ok=True)
                files.pipe_file(path, data)
            else:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                write_atomic(Path(path), data)

    def read(self, name: str) -> bytes:
        with self._reached("read", name) as (files, path):
            data: bytes = Path(path).read_bytes() if files is None else files.cat_file(path)
        return data

    def remove(self, folder: str) -> None:
        """Remove the files below a folder; one that is not there is no error."""
        import shutil

        with self._reached("remove", folder) as (files, path):
            if files is None:
                shutil.rmtree(path, ignore_errors=True)
            elif files.exists(path):
                files.rm(path, recursive=True)

    @contextmanager
    def _reached(self, what: str, name: str) -> Iterator[tuple[Any | None, str]]:
        """Yield the storage of a URL, ``None`` for a folder, and a file's path in either."""
        try:
            if self.is_url:
                purpose, install = f"artifacts in {self.where}", "enginescope[storage]"
                fsspec = optional.require("fsspec", purpose=purpose, install=install)
                files, path = fsspec.core.url_to_fs(self.where)
                yield files, f"{path}/{name}"
            else:
                yield None, str(Path(self.where) / name)
        except EnginescopeError:
            raise
        except Exception as error:  # each kind of storage has errors of its own
            why = without_password(str(error)) or type(error).__name__
            raise StoreError(f"cannot {what} {name} in {self.where}", why=why) from error
