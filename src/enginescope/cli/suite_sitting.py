"""One sitting of a suite: its cells into the store and the suite's folder, each as it ends."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from enginescope.cli.suite_fleet_sitting import kept, now, row_of, standing
from enginescope.cli.suite_progress import SuiteProgress
from enginescope.cli.termination import ending_in_order, saying_what_stands
from enginescope.model.run import Run
from enginescope.model.suite import Cell, CellRow, SuitePlan
from enginescope.runner.fleet.environment import Environment
from enginescope.runner.fleet.errand import Lost
from enginescope.runner.suite_resume import Here
from enginescope.runner.suite_run import Lanes, run_cells
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SuiteFolder
from enginescope.suite_cell import CellContext, do_cell
from enginescope.suite_reference import ReferenceAnswers


class Sitting:
    """Runs cells of a plan.

    Parameters
    ----------
    here : mapping
        Conditions that the rows are to carry, by environment.
    """

    def __init__(self, plan: SuitePlan, folder: SuiteFolder, store: Store, here: Here) -> None:
        self._plan, self._folder, self._store, self._here = plan, folder, store, here
        self._known = {one.key: one for one in plan.cells}
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def run(self, todo: Sequence[Cell], lanes: Lanes, *, quiet: bool) -> None:
        """Run cells; those that have ended stay done, however this ends."""
        before = len(self._plan.cells) - len(todo)

        def do(cell: Cell, lane: int) -> Any:
            progress.started(cell, lane)
            context = CellContext(
                sink=self._keep_run,
                command=self._plan.command,
                here=self._here[None],
                watcher=progress.watcher(lane),
                references=references,
            )
            # the plan's cell is kept, not the one that is bound to a lane's cores
            done = self._sent(cell) if cell.environment else do_cell(cell, context)
            row = replace(done, cell=self._known[cell.key])
            with self._lock:
                self._check_going()
                self._folder.keep(row)
            progress.ended(row, lane)
            return row

        folder = Path(tempfile.mkdtemp(prefix="enginescope-"))
        references = ReferenceAnswers(folder)
        progress = SuiteProgress(len(todo), before, lanes=len(lanes), quiet=quiet)
        try:
            with saying_what_stands(self._standing), ending_in_order(), progress:
                run_cells(todo, do, lanes, self._stopped)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _standing(self) -> str:
        return standing(len(self._folder.result().rows), self._plan)

    def _sent(self, cell: Cell) -> CellRow:
        """Have a cell done by another Python."""
        started, name = now(), str(cell.environment)
        python = self._plan.suite.environments[name]
        found = Environment(name, python).do(cell, self._plan.command)
        if isinstance(found, Lost):
            # what could not be started is not known to be bad under those versions
            versions = dict(self._here[name]) if found.is_fault else {}
            return replace(row_of(found, started), versions=versions)
        with self._lock:
            self._check_going()
            return kept(found, self._plan, self._store)

    def _keep_run(self, run: Run) -> None:
        with self._lock:
            self._check_going()
            self._store.save(run, tags=(self._plan.suite.name,))

    def _check_going(self) -> None:
        """End this thread where another one ended the sitting: its worker was killed with it."""
        if self._stopped.is_set():
            raise SystemExit
