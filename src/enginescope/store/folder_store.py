"""Runs as folders: ``<store>/runs/<id>/``."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.errors import StoreError
from enginescope.judge.notice import Notice
from enginescope.store.row import Filter, RunRow
from enginescope.store.run_names import DELETED, PART, locked, run_names
from enginescope.store.sql.listing import Listing

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.records.suite.suite_change import Lease, SuiteChange
    from enginescope.store.sql.scan import ReindexReport


class FolderStore:
    """The runs of a store that is a folder; see `StoreBackend`."""

    def __init__(self, store: Path, index_url: str | None = None) -> None:
        self._store = store
        self.runs = store / "runs"
        self._listing = Listing(store, index_url)

    def __str__(self) -> str:
        return str(self._store)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was wrong with the index and with runs so far."""
        return self._listing.notices

    def names(self) -> tuple[str, ...]:
        """Return the ids of all runs, damaged ones too."""
        return run_names(self.runs)

    def unfinished(self) -> tuple[str, ...]:
        """Return the names of saves that were cut off, or are still going on."""
        return run_names(self.runs, PART)

    def rows(self, wanted: Filter) -> tuple[RunRow, ...]:
        """Return the rows that fit, the newest first."""
        return self._listing.rows(wanted)

    def state(self) -> Hashable | None:
        """Return when the runs and the index changed last; ``None``: just now, or unknown."""
        return self._listing.state()

    def has(self, run_id: str) -> bool:
        """Whether a run of this id exists, damaged or not."""
        return (self.runs / run_id).is_dir()

    def id_at(self, folder: Path) -> str | None:
        """Return the id of the run in a folder, if it is one of this store."""
        return folder.name if folder.parent == self.runs else None

    def read(self, run_id: str, series: Sequence[str] | None = None) -> Run:
        from enginescope.store.sql.scan import read_named

        return read_named(self.runs / run_id, series)

    def folder(self, run_id: str) -> Path:
        return self.runs / run_id

    def check_writable(self) -> None:
        """Raise `StoreError` unless a run can be kept."""
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.runs):
                return
        except OSError as error:
            raise StoreError(
                f"cannot write to the store {self}",
                why=error.strerror or str(error),
                hint="--store DIR, or set ENGINESCOPE_HOME",
            ) from error

    def suite_home(self) -> Path:
        return self._store

    def put_suite(self, name: str, change: SuiteChange) -> None:
        """Write parts of a suite into its folder."""
        from enginescope.store.suite_folder import WRITING_S, suite_at, unknown_suite

        folder = suite_at(self._store, name)
        if change.plan is None and not folder.exists:
            raise unknown_suite(name)
        if folder.has(change):  # also if the session that sends it runs in this very folder
            return
        with folder.held(WRITING_S):
            folder.put(change)

    def suite_lease(self, name: str) -> Lease | None:
        """Return the lease of a suite."""
        from enginescope.store.suite_folder import suite_at

        return suite_at(self._store, name).lease()

    def suite_ended(self, name: str) -> dict[str, str]:
        """Return when the cells of a suite ended, by their keys."""
        from enginescope.store.suite_folder import suite_at

        rows = suite_at(self._store, name).rows()
        return {key: row.ended for key, row in rows.items()}

    @contextmanager
    def new_part(self) -> Iterator[Path]:
        """Make a folder to write a run into; what was not placed is gone in the end."""
        folder = self.runs / f"{PART}{secrets.token_hex(6)}"
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise StoreError(f"cannot write to the store {self}", why=str(error)) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def place(self, run: Run, part: Path) -> Path:
        """Take up the run written in `part`, and return its folder."""
        folder = self.runs / run.id
        try:
            part.rename(folder)
        except OSError as error:
            reason = "a run of this id exists" if folder.exists() else str(error)
            raise StoreError(f"cannot store run {run.id} in {self}", why=reason) from error
        self._listing.add(run)
        return folder

    def retag(self, run_id: str, *, add: Iterable[str] = (), drop: Iterable[str] = ()) -> Run:
        """Change a run's tags, and return it."""
        from enginescope.store.run_folder import changed_tags, rewrite
        from enginescope.store.sql.scan import read_named

        folder = self.runs / run_id
        with locked(self._store, "runs"):  # two that read before either writes would lose a tag
            tags = changed_tags(read_named(folder).tags, add, drop)
            run = rewrite(folder, tags=tags)
            self._listing.put(run)
        return run

    def delete(self, run_id: str) -> None:
        """Delete a run, damaged or unfinished too."""
        # renamed first, so that nobody reads half a run
        doomed = self.runs / f"{DELETED}{secrets.token_hex(4)}"
        try:
            (self.runs / run_id).rename(doomed)
        except OSError as error:
            raise StoreError(f"cannot delete run {run_id}", why=error.strerror) from error
        shutil.rmtree(doomed, ignore_errors=True)
        self._listing.remove(run_id)

    def reindex(self) -> ReindexReport:
        """Make the index again; damaged runs are named and left out."""
        for name in run_names(self.runs, DELETED):  # left by a delete that was cut off
            shutil.rmtree(self.runs / name, ignore_errors=True)
        with locked(self._store, "runs"):
            return self._listing.rebuild()
