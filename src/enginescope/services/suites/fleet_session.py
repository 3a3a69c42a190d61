"""One session of a suite on other machines: results are stored as they come back."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

from enginescope.core.errors import StoreError
from enginescope.records.suite.suite import Cell, CellRow, CellStatus, SuitePlan
from enginescope.runner.fleet.cell_task import CellTaskResult, Fleet, FleetWatch, Lost
from enginescope.services.suites.cell import now
from enginescope.services.suites.observer import SuiteObserver
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SuiteFolder


class FleetSession:
    """Sends cells of a plan to machines, and stores their runs and rows."""

    def __init__(
        self, plan: SuitePlan, folder: SuiteFolder, store: Store, observer: SuiteObserver
    ) -> None:
        self._plan, self._folder, self._store = plan, folder, store
        self._observer = observer
        self._started: dict[str, str] = {}
        self._slots: dict[str, int] = {}

    def run(self, todo: Sequence[Cell], fleet: Fleet) -> None:
        """Run cells; the rows of cells that came back are stored, however this ends."""
        self._slots = {cell.key: number for number, cell in enumerate(todo)}
        watch = FleetWatch(
            started=self._start,
            returned=lambda _, returned: self._end(
                store_returned(returned, self._plan, self._store)
            ),
            lost=lambda lost: self._end(row_of_lost(lost, self._started.get(lost.cell.key, now()))),
            again=self._observer.cell_retried,
        )
        self._observer.check_cancelled()
        fleet.run(todo, self._plan.command, watch)

    def _start(self, cell: Cell, place: str) -> None:
        self._observer.check_cancelled()
        self._started[cell.key] = now()
        self._observer.cell_started(cell, self._slots[cell.key], place)

    def _end(self, row: CellRow) -> None:
        self._folder.keep(row)
        self._observer.cell_ended(row, self._slots[row.cell.key])
        self._observer.check_cancelled()


def row_of_lost(lost: Lost, started: str) -> CellRow:
    """Return the row of a cell whose result did not come back.

    Args:
        started: UTC, ISO 8601.
    """
    return CellRow(
        cell=lost.cell,
        status=CellStatus.CRASHED if lost.is_fault else CellStatus.UNSUPPORTED,
        reason=lost.reason,
        hint=lost.hint,
        started=started,
        ended=now(),
        attempts=lost.attempts,
    )


def store_returned(returned: CellTaskResult, plan: SuitePlan, store: Store) -> CellRow:
    """Store the runs of a result, and return its row.

    A run may be in the store already, if a session was killed after storing it.
    """
    with tempfile.TemporaryDirectory(prefix="enginescope-returned-") as folder:
        for number, data in enumerate(returned.runs):
            file = Path(folder) / f"{number}.zip"
            file.write_bytes(data)
            if not _is_stored(file, store):
                store.tag(store.import_zip(file).id, plan.suite.name)
    return returned.row


def _is_stored(file: Path, store: Store) -> bool:
    """Whether a store has the run of a zip file, whose id is the file's one top folder."""
    with ZipFile(file) as packed:
        run_id = packed.namelist()[0].partition("/")[0]
    try:
        return store.id_of(run_id) == run_id
    except StoreError:
        return False
