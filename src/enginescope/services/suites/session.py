"""One session of a suite on this machine: each cell is stored as it ends.

One session of a suite on other machines: results are stored as they come back.
Cells that Kubernetes runs: write their manifests, and store the results that they leave.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

from msgspec.structs import replace

from enginescope.core.errors import FormatError, StoreError, UsageError
from enginescope.core.jsonio import write_atomic
from enginescope.core.yaml_text import yaml_text
from enginescope.records.run.job import Watcher
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import Cell, CellRow, CellStatus, SuitePlan
from enginescope.runner.fleet.cell_task import (
    CellTaskResult,
    Fleet,
    FleetWatch,
    Lost,
    packed_task,
    unpacked_returned,
)
from enginescope.runner.fleet.environment import Environment
from enginescope.runner.fleet.k8s_job import Claim, Cluster, job_of
from enginescope.runner.suites.suite_cells import Fingerprints
from enginescope.runner.suites.suite_run import WorkerSlots, run_cells
from enginescope.services.suites.cell import CellContext, now, run_cell
from enginescope.services.suites.observer import SuiteObserver
from enginescope.services.suites.reference_cache import ReferenceCache
from enginescope.services.suites.request import KubernetesJobs
from enginescope.store.archive import Store
from enginescope.store.run_keeper import RunKeeper
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


#: Folders in a suite's folder: tasks that jobs read, and results that they leave.
TASKS, RESULTS = "tasks", "returned"


def collect_results(
    plan: SuitePlan, folder: SuiteFolder, store: Store, observer: SuiteObserver
) -> int:
    """Store the results that jobs have left; return their count.

    The observer gets a warning for each file that cannot be used; the file stays.
    """
    place = folder.path / RESULTS
    known = {cell.key for cell in plan.cells}
    count = 0
    for file in sorted(place.glob("[!.]*")):
        if file.name not in known:
            observer.warn(f"left where it is: {file}: this suite has no such cell now")
            continue
        try:
            folder.keep(store_returned(unpacked_returned(file.read_bytes()), plan, store))
        except (FormatError, OSError) as error:
            observer.warn(f"left where it is: {file}: {error}")
            continue
        file.unlink()
        (folder.path / TASKS / file.name).unlink(missing_ok=True)
        count += 1
    return count


def write_jobs(
    plan: SuitePlan,
    todo: Sequence[Cell],
    folder: SuiteFolder,
    place: KubernetesJobs,
    observer: SuiteObserver,
) -> None:
    """Write a Job for every cell to run, and the task that it reads.

    Raises:
        UsageError: The label of GPUs has another form, or a file is on no volume of the cluster.
        StoreError: A file cannot be written.
    """
    if place.gpu_label.count("=") != 1 or "{gpu}" not in place.gpu_label:
        raise UsageError(
            f"--k8s-gpu-label {place.gpu_label}", why="not LABEL=VALUE with {gpu} in it"
        )
    cluster = Cluster(
        image=place.image,
        claims=tuple(
            Claim(name=name, folder=str(Path(mount).resolve())) for name, mount in place.mounts
        ),
        gpu_label=place.gpu_label,
        namespace=place.namespace,
    )
    for cell in todo:
        if cell.refusal is not None:
            observer.warn(f"skipped: {cell.label}: {cell.refusal}")
    cells = [cell for cell in todo if cell.refusal is None]
    root = folder.path.resolve()
    jobs = [
        job_of(cell, plan.suite.name, root / TASKS / cell.key, root / RESULTS / cell.key, cluster)
        for cell in cells
    ]
    try:
        for needed in (place.folder, root / TASKS, root / RESULTS) if cells else ():
            needed.mkdir(parents=True, exist_ok=True)
        for cell, job in zip(cells, jobs, strict=True):
            write_atomic(root / TASKS / cell.key, packed_task(cell, plan.command))
            write_atomic(place.folder / f"{cell.key}.yaml", yaml_text(job).encode())
    except OSError as error:
        raise StoreError(f"cannot write {error.filename}", why=error.strerror) from error
    observer.jobs_written(len(jobs), place.folder)
