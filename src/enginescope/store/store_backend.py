"""What a store asks of the place where its runs are kept."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from enginescope.judge.notice import Notice
from enginescope.store.row import Filter, RunRow

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.records.suite.suite_change import Lease, SuiteChange
    from enginescope.store.sql.scan import ReindexReport


class SuiteShelf(Protocol):
    """Keeps suites by their names, row by row."""

    def put_suite(self, name: str, change: SuiteChange) -> None:
        """Write parts of a suite: all of them, or nothing; of a cell, the last row stays.

        Raises:
            SuiteRunsError: Another machine has the lease, or another process runs the suite.
            StoreError: It cannot be written, or the suite has no plan and gets none.
        """
        ...

    def suite_ended(self, name: str) -> dict[str, str]:
        """Return when the cells of a suite ended, by their keys."""
        ...


class StoreBackend(SuiteShelf, Protocol):
    """Keeps runs by their ids. Its text is how errors name it, without credentials."""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was wrong with runs and listings so far, each once."""
        ...

    def names(self) -> tuple[str, ...]:
        """Return the ids of all runs, damaged ones too."""
        ...

    def unfinished(self) -> tuple[str, ...]:
        """Return the names of saves that were cut off."""
        ...

    def rows(self, wanted: Filter) -> tuple[RunRow, ...]:
        """Return the rows that fit, the newest first."""
        ...

    def state(self) -> Hashable | None:
        """Return what differs once a run was added, removed or tagged; ``None``: unknown."""
        ...

    def has(self, run_id: str) -> bool:
        """Whether a run of this id exists, damaged or not."""
        ...

    def id_at(self, folder: Path) -> str | None:
        """Return the id of the run in a folder, if it is one of this store."""
        ...

    def read(self, run_id: str, series: Sequence[str] | None = None) -> Run:
        """Return a run, or what is short of it and the samples of some metrics.

        Raises:
            FormatError: It is damaged.
            StoreError: A newer enginescope wrote it, or it is gone.
        """
        ...

    def folder(self, run_id: str) -> Path:
        """Return a folder with all files of a run: its own, or a copy of it."""
        ...

    def check_writable(self) -> None:
        """Raise `StoreError` unless a run can be kept."""
        ...

    def suite_home(self) -> Path:
        """Return where the folder ``suites`` is, with all there are: its own, or a copy."""
        ...

    def suite_lease(self, name: str) -> Lease | None:
        """Return the lease of a suite; ``None``: it is not known who runs it."""
        ...

    def new_part(self) -> AbstractContextManager[Path]:
        """Make a folder to write a run into; what was not placed is gone in the end."""
        ...

    def place(self, run: Run, part: Path) -> Path | None:
        """Take up the run written in `part`, and return its folder, if it has one."""
        ...

    def retag(self, run_id: str, *, add: Iterable[str] = (), drop: Iterable[str] = ()) -> Run:
        """Change a run's tags, and return it."""
        ...

    def delete(self, run_id: str) -> None:
        """Delete a run."""
        ...

    def reindex(self) -> ReindexReport:
        """Make all rows again from the runs; damaged runs are named and left out."""
        ...
