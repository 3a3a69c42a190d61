"""One session of a suite, here or on other machines: each cell is stored as it ends."""

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from enginescope.core.errors import FormatError, StoreError, os_errors_as
from enginescope.core.packed_files import opened_zip
from enginescope.core.record import copied, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.run.job import Watcher
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import Cell, CellRow, CellStatus, SuitePlan
from enginescope.runner.fleet.environment import Environment
from enginescope.runner.fleet.machines import REFERENCES, CellTaskResult, Fleet, FleetWatch, Lost
from enginescope.runner.suites.suite_cells import Fingerprints, WorkerSlots, run_cells
from enginescope.services.suites.cell import CellContext, now, run_cell
from enginescope.services.suites.reference_cache import MOST_ENTRIES, ReferenceCache
from enginescope.services.suites.request import SuiteObserver
from enginescope.store.archive import RunKeeper, Store
from enginescope.store.suite_folder import SuiteFolder


class FleetSession:
    """Sends cells of a plan to machines, and stores their runs and rows."""

    def __init__(
        self, plan: SuitePlan, folder: SuiteFolder, store: Store, observer: SuiteObserver
    ) -> None:
        self._plan, self._folder, self._store, self._observer = plan, folder, store, observer
        self._started: dict[str, str] = {}
        self._slots: dict[str, int] = {}

    def run(self, todo: Sequence[Cell], fleet: Fleet) -> None:
        """Run cells; the rows of cells that came back are stored, however this ends."""
        self._slots = {cell.key: number for number, cell in enumerate(todo)}
        watch = FleetWatch(
            started=self._start,
            returned=self._take,
            lost=lambda lost: self._end(row_of_lost(lost, self._started.get(lost.cell.key, now()))),
            again=self._observer.cell_retried,
        )
        self._observer.check_cancelled()
        with _shared_references(todo, self._folder):
            fleet.run(todo, self._plan.command, watch)

    def _start(self, cell: Cell, place: str) -> None:
        self._observer.check_cancelled()
        self._started[cell.key] = now()
        self._observer.cell_started(cell, self._slots[cell.key], place)

    def _take(self, cell: Cell, returned: CellTaskResult) -> None:
        try:
            row = store_returned(returned, self._plan, self._store)
        except FormatError as error:
            lost = Lost(cell=cell, reason=str(error))
            row = row_of_lost(lost, self._started.get(cell.key, now()))
        self._end(row)

    def _end(self, row: CellRow) -> None:
        self._folder.keep(row)
        self._observer.cell_ended(row, self._slots[row.cell.key])
        self._observer.check_cancelled()


@contextmanager
def _shared_references(cells: Sequence[Cell], folder: SuiteFolder) -> Iterator[None]:
    """Make an empty folder for the reference outputs of a session, if cells compare outputs."""
    references = folder.path / REFERENCES
    shutil.rmtree(references, ignore_errors=True)
    try:
        if any(cell.mode != "benchmark" for cell in cells):
            with os_errors_as(StoreError, f"cannot write {references}"):
                references.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        shutil.rmtree(references, ignore_errors=True)


def row_of_lost(lost: Lost, started: str) -> CellRow:
    """Return the row of a cell, started then (UTC, ISO 8601), whose result did not come back."""
    status = CellStatus.CRASHED if lost.is_fault else CellStatus.UNSUPPORTED
    return copied(CellRow, lost, status=status, started=started, ended=now())


def store_returned(returned: CellTaskResult, plan: SuitePlan, store: Store) -> CellRow:
    """Store the runs of a result, and return its row.

    A run may be in the store already, if a session was killed after storing it.
    """
    with temporary_folder() as folder:
        for number, data in enumerate(returned.runs):
            file = folder / f"{number}.zip"
            file.write_bytes(data)
            if not _is_stored(file, store):
                store.tag(store.import_zip(file).id, plan.suite.name)
    return returned.row


def _is_stored(file: Path, store: Store) -> bool:
    """Whether a store has the run of a zip file, whose id is the file's one top folder."""
    with opened_zip(file, expected="a zip file of one run") as packed:
        run_id = next(iter(packed.namelist()), "").partition("/")[0]
    try:
        return store.id_of(run_id) == run_id
    except StoreError:
        return False


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
        """Run cells; the rows of ended cells are stored, however this ends."""
        others = [cell for cell in todo if cell.environment is not None]
        shared = _shared_references(others, self._folder) if others else nullcontext()
        with temporary_folder() as folder, shared:
            references = ReferenceCache(folder, MOST_ENTRIES)
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
            if self._keeper.lost:  # the row stays in memory, and ends the session
                self._folder.hold(row)
                raise StoreError(f"runs of {row.cell.label}", why=self._keeper.message)
            self._folder.keep(row)
        observer.cell_ended(row, slot)

    def _run_in_environment(self, cell: Cell, name: str) -> CellRow:
        started = now()
        python = self._plan.suite.environments[name]
        references = str(self._folder.path.resolve() / REFERENCES)
        result = Environment(name, python).do(cell, self._plan.command, references)
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

    def _exit_if_stopped(self) -> None:
        """Exit this thread if another thread ended the session: its worker was killed with it."""
        if self._stopped.is_set():
            raise SystemExit
