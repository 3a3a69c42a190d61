"""Run cells in order, or side by side in worker slots that do not disturb each other.

One cell of a suite measured in fresh processes, whatever becomes of it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timezone

from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import replace
from enginescope.judge.experiment import Experiment, Measured, Position
from enginescope.probe.environment import probe_environment
from enginescope.probe.host import children_pinned_to, siblings, usable_processors
from enginescope.probe.nvml import probe_devices
from enginescope.records.run.job import Job, Watcher
from enginescope.records.run.rounds import measured_of
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet.machines import is_kind
from enginescope.runner.isolate import kill_running
from enginescope.runner.jobs import check_demands, check_subject
from enginescope.runner.machine.gpu_notices import gpu_index
from enginescope.runner.session import Sink, run_jobs


def measure_cell(
    cell: Cell, sink: Sink, *, command: str | None = None, watcher: Watcher | None = None
) -> tuple[tuple[Run, ...], int]:
    """Measure a cell in as many processes as it asks for, one after another.

    Each is measured again as often as it fails or is disturbed and `Cell.retries` allows; the first
    that fails for good ends the cell.

    Args:
        sink: Gets the run of each attempt as soon as it has ended, whatever the outcome.
        watcher: Is told the number of the process, from 0, as the index.

    Returns:
        Of the last attempt of each process, in order; where the cell fails, the last is the one
        that did. What cannot be run here at all is a run too, ``unsupported``.
        Attempts of the process that took most of them.
    """
    refused = refusal_of(cell)
    if refused is not None:
        run = refused_run(cell.job, refused, command)
        sink(run)
        return (run,), 1

    def measure(position: Position) -> Measured[Run]:
        told = _numbered(watcher, position.round)
        (run,) = run_jobs((cell.job,), sink, command=command, watcher=told)
        return measured_of(run)

    experiment: Experiment[Run] = Experiment(
        1, measure, spare=cell.processes * cell.retries, retries=cell.retries
    )
    for _ in range(cell.processes):
        if not experiment.run_round()[0].is_measured:
            break
    runs = tuple(row[0].measured.source for row in experiment.rows())
    return runs, 1 + max(entry.position.attempt for entry in experiment.table)


def _numbered(watcher: Watcher | None, number: int) -> Watcher | None:
    """Return a watcher that is told of one job as of the one with that number."""
    if watcher is None:
        return None
    return Watcher(
        started=lambda _, job: watcher.started(number, job),
        progressed=lambda _, progress: watcher.progressed(number, progress),
    )


def refusal_of(cell: Cell) -> Outcome | None:
    """Return why a cell cannot be run here, known without starting anything; ``None``: it can."""
    kind = OutcomeKind.UNSUPPORTED
    if cell.refusal is not None:
        return Outcome(kind=kind, message=cell.refusal)
    lacking = _lacking_gpu(cell)
    if lacking is not None:
        return Outcome(kind=kind, message=lacking)
    try:
        check_demands(cell.job.backend, cell.job.workload.mode)
        check_subject(cell.job.backend, cell.job.subject)
    except EnginescopeError as error:
        return Outcome(kind=kind, message=str(error), hint=error.hint)
    return None


def _lacking_gpu(cell: Cell) -> str | None:
    wanted = cell.needs.gpu
    if wanted is None:
        return None
    names = [device.name for device in probe_devices()]
    if any(is_kind(wanted, name) for name in names):
        return None
    return f"it asks for a GPU called {wanted}; here is {', '.join(names) or 'none that is seen'}"


def refused_run(job: Job, outcome: Outcome, command: str | None) -> Run:
    """Return the run of a job that was not started."""
    return Run(
        id=secrets.token_hex(6),
        created=datetime.now(timezone.utc).isoformat(timespec="microseconds"),
        origin="measured",
        job=job,
        outcome=outcome,
        environment=probe_environment(),
        command=command,
    )


def on_cores(cell: Cell, cores: tuple[int, ...]) -> Cell:
    """Return a cell that runs on these logical processors alone; none: as it was."""
    if not cores:
        return cell
    conditions = replace(cell.job.conditions, pinned_cores=cores)
    return replace(cell, job=replace(cell.job, conditions=conditions))


#: Runs a cell that is bound to its processors; the second argument is the slot's number, from 0.
RunCell = Callable[[Cell, int], object]
#: Logical processors of each slot; an empty tuple: all processors.
WorkerSlots = Sequence[tuple[int, ...]]
_WAIT_S = 0.2


def worker_slots(count: int) -> tuple[tuple[int, ...], ...]:
    """Return `count` worker slots that share no physical core."""
    if count < 1:
        raise UsageError(f"--jobs {count}", why="at least one cell runs at a time")
    if count == 1:
        return ((),)
    usable = usable_processors()
    if usable is None:
        raise UsageError(f"--jobs {count}", why="this system pins no process to processors")
    cores = sorted({tuple(set(siblings(one)) & set(usable)) or (one,) for one in usable})
    if count > len(cores):
        raise UsageError(
            f"--jobs {count}",
            why=f"there are {len(cores)} physical cores to use here, and no two cells share one",
            hint=f"--jobs {len(cores)}",
        )
    each = len(cores) // count
    groups = [cores[at * each : (at + 1) * each] for at in range(count)]
    return tuple(tuple(sorted(one for core in group for one in core)) for group in groups)


def run_cells(
    cells: Sequence[Cell],
    run: RunCell,
    slots: WorkerSlots = ((),),
    stopped: threading.Event | None = None,
) -> None:
    """Run every cell once, in order as far as slots and GPUs are free.

    Never run two cells on one GPU or on the same cores. A cell with `Needs.exclusive` runs alone.

    Args:
        stopped: Set before the workers of other slots are killed; their cells have no result.
    """
    if len(slots) == 1:
        for cell in cells:
            run(on_cores(cell, slots[0]), 0)
        return
    _SlotWorkers(cells, run, stopped or threading.Event()).run(slots)


class _SlotWorkers:
    """Threads that take cells until no cell is left, a thread for each slot."""

    def __init__(self, cells: Sequence[Cell], run: RunCell, stopped: threading.Event) -> None:
        together = [cell for cell in cells if not cell.needs.exclusive]
        self._left = [*together, *(cell for cell in cells if cell.needs.exclusive)]
        self._run_cell = run
        self._change = threading.Condition()
        self._running: list[Cell] = []
        self._error: BaseException | None = None
        self._stopped = stopped

    def run(self, slots: WorkerSlots) -> None:
        threads = [
            threading.Thread(target=self._work, args=(number, cores), daemon=True)
            for number, cores in enumerate(slots)
        ]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads) and self._error is None:
                threads[0].join(_WAIT_S)
                if not threads[0].is_alive():
                    with self._change:
                        self._change.wait(_WAIT_S)
        except BaseException as error:  # Ctrl-C comes to this thread alone
            self._stop(error)
            raise
        finally:
            for thread in threads:
                while thread.is_alive():
                    if self._error is not None:
                        kill_running()  # again: a slot may have been about to start one
                    thread.join(_WAIT_S)
        if self._error is not None:
            raise self._error

    def _stop(self, error: BaseException) -> None:
        with self._change:
            self._error = self._error or error
            self._stopped.set()
            self._change.notify_all()

    def _work(self, number: int, cores: tuple[int, ...]) -> None:
        while (cell := self._take()) is not None:
            try:
                # what it starts besides the measurement, a build or answers, stays there too
                with children_pinned_to(cores):
                    self._run_cell(on_cores(cell, cores), number)
            except BaseException as error:  # noqa: BLE001 - the main thread raises it
                self._stop(error)
                return
            finally:
                with self._change:
                    self._running.remove(cell)
                    self._change.notify_all()

    def _take(self) -> Cell | None:
        """Return the next cell that nothing running disturbs; ``None``: there is none left."""
        with self._change:
            while self._left and self._error is None:
                fitting = next((one for one in self._left if self._is_free(one)), None)
                if fitting is not None:
                    self._left.remove(fitting)
                    self._running.append(fitting)
                    return fitting
                self._change.wait(_WAIT_S)
        return None

    def _is_free(self, cell: Cell) -> bool:
        if any(one.needs.exclusive for one in self._running):
            return False
        if cell.needs.exclusive:
            return not self._running
        gpu = gpu_index(cell.job)
        return gpu is None or all(gpu_index(one.job) != gpu for one in self._running)
