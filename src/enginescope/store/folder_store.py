"""Where the runs of a store are kept: what a store asks of such a place, and folders."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from enginescope.core.errors import StoreError, os_errors_as
from enginescope.judge.notice import Notice
from enginescope.store.row import Filter, RunRow
from enginescope.store.run_names import DELETED, PART, locked, run_names
from enginescope.store.sql.index_repair import RepairedIndex

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.records.suite.suite import Lease, SuiteChange
    from enginescope.store.run_folder import ReindexReport
    from enginescope.store.suite_folder import SuiteFolder


class FolderStore:
    """The runs of a store that is a folder; see `StoreBackend`."""

    def __init__(self, store: Path, index_url: str | None = None) -> None:
        self._store = store
        self.runs = store / "runs"
        self._index = RepairedIndex(store, index_url)

    def __str__(self) -> str:
        return str(self._store)

    @property
    def notices(self) -> tuple[Notice, ...]:
        return self._index.notices

    def names(self) -> tuple[str, ...]:
        return run_names(self.runs)

    def unfinished(self) -> tuple[str, ...]:
        return run_names(self.runs, PART)

    def rows(self, wanted: Filter) -> tuple[RunRow, ...]:
        return self._index.rows(wanted)

    def state(self) -> Hashable | None:
        """Return when the runs and the index changed last; ``None``: just now, or unknown."""
        return self._index.state()

    def has(self, run_id: str) -> bool:
        return (self.runs / run_id).is_dir()

    def id_at(self, folder: Path) -> str | None:
        return folder.name if folder.parent == self.runs else None

    def read(self, run_id: str, series: Sequence[str] | None = None) -> Run:
        from enginescope.store.run_folder import read_named

        return read_named(self.runs / run_id, series)

    def folder(self, run_id: str) -> Path:
        return self.runs / run_id

    def check_writable(self) -> None:
        what, hint = f"cannot write to the store {self}", "--store DIR, or set ENGINESCOPE_HOME"
        with os_errors_as(StoreError, what, hint=hint):
            self.runs.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.runs):
                return

    def suite_home(self) -> Path:
        return self._store

    def put_suite(self, name: str, change: SuiteChange) -> None:
        from enginescope.store.suite_folder import WRITING_S, unknown_suite

        folder = self._suite(name)
        if change.plan is None and not folder.exists:
            raise unknown_suite(name)
        if folder.has(change):  # also if the session that sends it runs in this very folder
            return
        with folder.held(WRITING_S):
            folder.put(change)

    def suite_lease(self, name: str) -> Lease | None:
        return self._suite(name).lease()

    def suite_ended(self, name: str) -> dict[str, str]:
        return {key: row.ended for key, row in self._suite(name).rows().items()}

    def _suite(self, name: str) -> SuiteFolder:
        from enginescope.store.suite_folder import suite_at

        return suite_at(self._store, name)

    @contextmanager
    def new_part(self) -> Iterator[Path]:
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
        folder = self.runs / run.id
        try:
            part.rename(folder)
        except OSError as error:
            reason = "a run of this id exists" if folder.exists() else str(error)
            raise StoreError(f"cannot store run {run.id} in {self}", why=reason) from error
        self._index.add(run)
        return folder

    def retag(self, run_id: str, *, add: Iterable[str] = (), drop: Iterable[str] = ()) -> Run:
        from enginescope.store.run_folder import changed_tags, read_named, rewrite

        folder = self.runs / run_id
        with locked(self._store, "runs"):  # two that read before either writes would lose a tag
            run = rewrite(folder, tags=changed_tags(read_named(folder).tags, add, drop))
            self._index.put(run)
        return run

    def delete(self, run_id: str) -> None:
        # renamed first, so that nobody reads half a run
        doomed = self.runs / f"{DELETED}{secrets.token_hex(4)}"
        with os_errors_as(StoreError, f"cannot delete run {run_id}"):
            (self.runs / run_id).rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)
        self._index.remove(run_id)

    def reindex(self) -> ReindexReport:
        for name in run_names(self.runs, DELETED):  # left by a delete that was cut off
            shutil.rmtree(self.runs / name, ignore_errors=True)
        with locked(self._store, "runs"):
            return self._index.rebuild()


class SuiteShelf(Protocol):
    """Keeps suites by their names, row by row."""

    def put_suite(self, name: str, change: SuiteChange) -> None:
        """Write parts of a suite: all of them, or nothing; of a cell, the last row stays.

        Raises:
            SuiteRunsError: Another machine has the lease, or another process runs the suite.
            StoreError: It cannot be written, or the suite has no plan and gets none.
        """

    def suite_ended(self, name: str) -> dict[str, str]:
        """Return when the cells of a suite ended, by their keys."""


class StoreBackend(SuiteShelf, Protocol):
    """Keeps runs by their ids. Its text is how errors name it, without credentials."""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was wrong with runs and listings so far, each once."""

    def names(self) -> tuple[str, ...]:
        """Return the ids of all runs, damaged ones too."""

    def unfinished(self) -> tuple[str, ...]:
        """Return the names of saves that were cut off."""

    def rows(self, wanted: Filter) -> tuple[RunRow, ...]:
        """Return the rows that fit, the newest first."""

    def state(self) -> Hashable | None:
        """Return what differs once a run was added, removed or tagged; ``None``: unknown."""

    def has(self, run_id: str) -> bool:
        """Whether a run of this id exists, damaged or not."""

    def id_at(self, folder: Path) -> str | None:
        """Return the id of the run in a folder, if it is one of this store."""

    def read(self, run_id: str, series: Sequence[str] | None = None) -> Run:
        """Return a run, or what is short of it and the samples of some metrics.

        Raises:
            FormatError: It is damaged.
            StoreError: A newer enginescope wrote it, or it is gone.
        """

    def folder(self, run_id: str) -> Path:
        """Return a folder with all files of a run: its own, or a copy of it."""

    def check_writable(self) -> None:
        """Raise `StoreError` unless a run can be kept."""

    def suite_home(self) -> Path:
        """Return where the folder ``suites`` is, with all there are: its own, or a copy."""

    def suite_lease(self, name: str) -> Lease | None:
        """Return the lease of a suite; ``None``: it is not known who runs it."""

    def new_part(self) -> AbstractContextManager[Path]:
        """Make a folder to write a run into; what was not placed is gone in the end."""

    def place(self, run: Run, part: Path) -> Path | None:
        """Take up the run written in `part`, and return its folder, if it has one."""

    def retag(self, run_id: str, *, add: Iterable[str] = (), drop: Iterable[str] = ()) -> Run:
        """Change a run's tags, and return it."""

    def delete(self, run_id: str) -> None:
        """Delete a run."""

    def reindex(self) -> ReindexReport:
        """Make all rows again from the runs; damaged runs are named and left out."""
