"""One session of a suite on this machine: each cell is stored as it ends."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from enginescope.core.errors import StoreError
from enginescope.records.run.run import Run
from enginescope.records.run.watcher import Watcher
from enginescope.records.suite.suite import Cell, CellRow, SuitePlan
from enginescope.runner.fleet.cell_task import Lost
from enginescope.runner.fleet.environment import Environment
from enginescope.runner.suites.suite_resume import Fingerprints
from enginescope.runner.suites.suite_run import WorkerSlots, run_cells
from enginescope.services.suites.cell import CellContext, now, run_cell
from enginescope.services.suites.fleet_session import row_of_lost, store_returned
from enginescope.services.suites.observer import SuiteObserver
from enginescope.services.suites.reference_cache import ReferenceCache
from enginescope.store.archive import Store
from enginescope.store.run_keeper import RunKeeper
from enginescope.store.suite_folder import SuiteFolder


class SuiteSession:
    """Runs cells of a plan, and stores their runs and rows."""

    def __init__(
        self,
        plan: SuitePlan,
        folder: SuiteFolder,
        store: Store,
        fingerprints: Fingerprints,
        observer: SuiteObserver,
    ) -> None:
        self._plan, self._folder, self._store = plan, folder, store
        self._fingerprints, self._observer = fingerprints, observer
        self._cells = {cell.key: cell for cell in plan.cells}
        self._keeper = RunKeeper(store)
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def run(self, todo: Sequence[Cell], slots: WorkerSlots) -> None:
        """Run cells; the rows of ended cells are stored, however this ends.

        Raises:
            StoreError: A run or row could not be stored; the folder's `unstored` has the row.
        """
        with tempfile.TemporaryDirectory(
            prefix="enginescope-", ignore_cleanup_errors=True
        ) as folder:
            references = ReferenceCache(Path(folder))
            run_cells(
                todo, lambda cell, slot: self._run(cell, slot, references), slots, self._stopped
            )

    def _run(self, cell: Cell, slot: int, references: ReferenceCache) -> None:
        """Run a cell that is bound to the cores of a slot, and store its row."""
        observer = self._observer
        observer.check_cancelled()
        observer.cell_started(cell, slot)
        if cell.environment is not None:
            row = self._run_in_environment(cell, cell.environment)
        else:
            context = CellContext(
                sink=self._store_run,
                command=self._plan.command,
                fingerprint=self._fingerprints.own,
                watcher=Watcher(
                    started=lambda number, _job: observer.process_started(slot, number),
                    progressed=lambda _number, progress: observer.cell_progressed(slot, progress),
                ),
                references=references,
            )
            row = run_cell(cell, context)
        row = replace(row, cell=self._cells[cell.key])  # the plan's cell is not bound to cores
        with self._lock:
            self._exit_if_stopped()
            self._store_row(row)
        observer.cell_ended(row, slot)

    def _run_in_environment(self, cell: Cell, name: str) -> CellRow:
        started = now()
        python = self._plan.suite.environments[name]
        result = Environment(name, python).do(cell, self._plan.command)
        if isinstance(result, Lost):
            # a cell that could not be started is not known to be bad under these versions
            versions = self._fingerprints.of(cell) if result.is_fault else {}
            return replace(row_of_lost(result, started), versions=versions)
        with self._lock:
            self._exit_if_stopped()
            return store_returned(result, self._plan, self._store)

    def _store_run(self, run: Run) -> None:
        with self._lock:
            self._exit_if_stopped()
            self._keeper.keep(run, (self._plan.suite.name,))

    def _store_row(self, row: CellRow) -> None:
        """Store a row; a row whose runs are not stored stays in memory, and ends the session."""
        if not self._keeper.lost:
            self._folder.keep(row)
            return
        self._folder.hold(row)
        raise StoreError(f"runs of {row.cell.label}", why=self._keeper.message)

    def _exit_if_stopped(self) -> None:
        """Exit this thread if another thread ended the session: its worker was killed with it."""
        if self._stopped.is_set():
            raise SystemExit
