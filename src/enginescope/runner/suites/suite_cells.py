"""Cells of a suite: which are to be run, and how, in order or side by side in worker slots."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from enginescope.backends.registry import parse_backend, read_spec
from enginescope.core.errors import (
    BackendError,
    EnginescopeError,
    MissingDependencyError,
    UsageError,
)
from enginescope.core.jsonio import sha256_of
from enginescope.core.optional import has_come
from enginescope.core.record import Record, copied, replace
from enginescope.core.suggest import did_you_mean
from enginescope.judge.experiment import Experiment, Measured, Position
from enginescope.probe.host import children_pinned_to, siblings, usable_processors
from enginescope.probe.nvml import probe_devices
from enginescope.records.run.job import BackendSpec, Job, Subject, Watcher, Workload
from enginescope.records.run.rounds import measured_of
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.records.suite.suite import (
    Cell,
    CellRow,
    CellStatus,
    Checking,
    ResumeState,
    Suite,
    SuiteModel,
)
from enginescope.runner.fleet.machines import is_kind
from enginescope.runner.isolate import kill_running
from enginescope.runner.jobs import check_demands, check_subject, subject_of
from enginescope.runner.machine.gpu_condition import gpu_index
from enginescope.runner.model_inputs import settled_workload
from enginescope.runner.session import Sink, run_jobs, unstarted_run

#: Files beside a model that may hold its weights.
_WEIGHTS = ("*.data", "*.onnx_data*", "*.weights", "*.bin")


def cells_of(suite: Suite, *, engine_cache: Path | None = None) -> tuple[Cell, ...]:
    """Return the cells of a suite, models outermost, then backends.

    Reads every model once, for its hash; nothing is loaded or run.

    Args:
        engine_cache: Where built engines are kept.
    """
    cells = []
    reference = _digest_of_reference(suite)
    for model in suite.models:
        subject = subject_of(Path(model.path))
        weights = _weights_beside(Path(model.path))
        digests = [
            [(file.name, sha256_of(file)) for file in sorted(Path(folder).glob("*.pb"))]
            for folder in (model.data_sets if suite.input == "dataset" else ())
        ]
        for spec, refusal in map(_spec, model.backends):
            for cell in _of_backend(suite, model, _job(suite, subject, spec, engine_cache)):
                content = [subject.sha256, weights, digests, *reference]
                cells.append(replace(cell, refusal=refusal, key=_key(cell, content)))
    specs = dict.fromkeys(cell.spec for cell in cells)
    if suite.baseline is not None and suite.baseline not in specs:
        why = "it is not one of the suite's backends"
        hint = did_you_mean(suite.baseline, specs)
        raise UsageError(f"baseline {suite.baseline}", why=why, hint=hint)
    return tuple({cell.key: cell for cell in cells}.values())


def _job(suite: Suite, subject: Subject, spec: BackendSpec, cache: Path | None) -> Job:
    return Job(
        subject=subject,
        backend=spec,
        workload=Workload(seed=suite.seed, warmup=suite.warmup, stop=suite.stop),
        layer_profile=suite.layers,
        limits=suite.limits,
        engine_cache=str(cache.absolute()) if cache else None,
    )


def _of_backend(suite: Suite, model: SuiteModel, job: Job) -> Iterator[Cell]:
    for batch, shapes, dims in product(model.batches, model.shapes, model.dims):
        # a data set has shapes of its own, and is of single items as a rule
        has_own = bool(shapes) or bool(dims) or (batch or 1) > 1
        is_fed = suite.input == "dataset" and bool(model.data_sets) and not has_own
        sets = model.data_sets if is_fed else ()
        workload = replace(
            job.workload,
            batch=batch,
            shapes=shapes,
            ranges=model.ranges,
            dims=dims,
            data_set=sets[0] if sets else None,
            mode=replace(job.workload.mode, decode=model.decode),
        )
        workload = settled_workload([Path(model.path)], workload)
        yield copied(
            Cell,
            suite,
            key="",
            model=model.name,
            input="dataset" if is_fed else "random",
            job=replace(job, workload=workload, limits=model.limits or job.limits),
            data_sets=sets,
            needs=model.needs,
            processes=suite.processes if suite.mode != "validate" else 1,
        )


def _spec(text: str) -> tuple[BackendSpec, str | None]:
    spec = read_spec(text)
    alone = replace(spec, environment=None)
    try:
        parse_backend(str(alone))
    except (MissingDependencyError, BackendError):  # of this machine: the cell will say so
        return spec, None
    except UsageError as error:
        if spec.precision is None:
            raise
        parse_backend(str(replace(alone, precision=None)))  # only the precision
        return spec, f"{error.what}{f': {error.why}' if error.why else ''}"
    return spec, None


def _key(cell: Cell, content: list[Any]) -> str:
    """Return what a cell is known by: it tells nothing of where its files lie."""
    job = cell.job
    workload = _known_workload(job.workload)
    checking = cell.checking if cell.mode != "benchmark" else None
    if checking is not None and _reference_file(checking) is not None:  # its content counts
        checking = replace(checking, reference=None)
    known: list[Any] = [content, cell.model, cell.mode, cell.input, str(job.backend), workload]
    known += [job.layer_profile, checking, cell.needs]
    known += [cell.processes] if cell.processes > 1 else []  # of one as it was before
    return hashlib.sha256(msgspec.json.encode(known, order="sorted")).hexdigest()[:16]


def _known_workload(workload: Workload) -> dict[str, Any]:
    """Return the workload as keys have it: without its place, and without fields of no content.

    The latter came later: cells that do not use them keep their keys.
    """
    fields: dict[str, Any] = msgspec.to_builtins(workload)
    for later in ("decode", "call", "loop"):
        if fields["mode"][later] is None:
            del fields["mode"][later]
    for later in ("dims", "open_dims", "index_inputs", "filled", "derived"):
        if not fields[later]:
            del fields[later]
    return {**fields, "data_set": None}


def _weights_beside(path: Path) -> list[tuple[str, int, int]]:
    """Return name, size and time of change of what may be a model's weights, unread."""
    if path.suffix.lower() != ".onnx":
        return []
    found = {one for pattern in _WEIGHTS for one in path.parent.glob(pattern) if one.is_file()}
    return [(one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in sorted(found)]


def _digest_of_reference(suite: Suite) -> list[Any]:
    path = _reference_file(suite.checking) if suite.mode != "benchmark" else None
    if path is None:
        return []
    if path.is_dir():
        files = sorted(one for one in path.rglob("*") if one.is_file())
        return [[(str(file.relative_to(path)), sha256_of(file)) for file in files]]
    return [[sha256_of(path), _weights_beside(path)]]


def _reference_file(checking: Checking) -> Path | None:
    """Return the file or folder of a reference, which `suite_of` names by its whole path."""
    path = Path(checking.reference or "")
    return path if path.is_absolute() and path.exists() else None


#: Results that another limit can change.
_OF_LIMITS = frozenset({CellStatus.TIMED_OUT, CellStatus.OUT_OF_MEMORY})


class Fingerprints(Record, frozen=True, kw_only=True):
    """Versions and hardware that the cells of a suite run on; see `environment_fingerprint`.

    Attributes:
        own: Of this Python.
        environments: Of other Pythons of this machine, by their names in the suite.
    """

    own: dict[str, str]
    environments: dict[str, dict[str, str]] = {}  # noqa: RUF012 - msgspec copies empty defaults

    def of(self, cell: Cell) -> dict[str, str]:
        """Return the fingerprint of the Python that runs `cell`."""
        return self.own if cell.environment is None else self.environments[cell.environment]


def resume_state(
    cells: Sequence[Cell],
    rows: Mapping[str, CellRow],
    fingerprints: Fingerprints | None,
    *,
    retry_failed: bool = False,
    retry_busy: bool = False,
) -> ResumeState:
    """Compare cells with the rows of former sessions.

    Args:
        rows: Rows of cells that ended before, by the cells' keys.
        fingerprints: A row with another fingerprint is not done; ``None``: any row counts.
        retry_failed: Run failed cells again.
        retry_busy: Run cells again whose figures are unstable.
    """
    done, bad, todo = [], [], []
    changed = 0
    for cell in cells:
        row = rows.get(cell.key)
        if row is None:
            todo.append(cell)
        elif fingerprints is not None and row.versions != fingerprints.of(cell):
            changed += bool(row.versions)  # a row without versions could not even be started
            todo.append(cell)
        elif row.is_unstable and retry_busy:
            todo.append(cell)
        elif row.status is CellStatus.OK:
            done.append(row)
        elif retry_failed or _can_end_otherwise(cell, row, is_here=fingerprints is not None):
            todo.append(cell)
        else:
            bad.append(row)
    return ResumeState(done=tuple(done), known_bad=tuple(bad), todo=tuple(todo), changed=changed)


def _can_end_otherwise(cell: Cell, row: CellRow, *, is_here: bool) -> bool:
    if row.status in _OF_LIMITS:
        return row.cell.job.limits != cell.job.limits
    # the packages of other environments and machines are not known here
    return is_here and cell.environment is None and has_come(row.reason)


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
        run = unstarted_run(cell.job, refused, command)
        sink(run)
        return (run,), 1

    def measure(position: Position) -> Measured[Run]:
        told = watcher and Watcher(  # of one job as of the one with the process's number
            started=lambda _, job: watcher.started(position.round, job),
            progressed=lambda _, progress: watcher.progressed(position.round, progress),
        )
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


def refusal_of(cell: Cell) -> Outcome | None:
    """Return why a cell cannot be run here, known without starting anything; ``None``: it can."""
    kind = OutcomeKind.UNSUPPORTED
    if cell.refusal is not None:
        return Outcome(kind=kind, message=cell.refusal)
    wanted = cell.needs.gpu
    if wanted is not None:
        names = [device.name for device in probe_devices()]
        if not any(is_kind(wanted, name) for name in names):
            here = ", ".join(names) or "none that is seen"
            return Outcome(kind=kind, message=f"it asks for a GPU called {wanted}; here is {here}")
    try:
        check_demands(cell.job.backend, cell.job.workload.mode)
        check_subject(cell.job.backend, cell.job.subject)
    except EnginescopeError as error:
        return Outcome(kind=kind, message=str(error), hint=error.hint)
    return None


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
        raise UsageError(f"`jobs` {count}", why="at least one cell runs at a time")
    if count == 1:
        return ((),)
    usable = usable_processors()
    if usable is None:
        raise UsageError(f"`jobs` {count}", why="this system pins no process to processors")
    cores = sorted({tuple(set(siblings(one)) & set(usable)) or (one,) for one in usable})
    if count > len(cores):
        why = f"there are {len(cores)} physical cores to use here, and no two cells share one"
        raise UsageError(f"`jobs` {count}", why=why, hint=f"`jobs` {len(cores)}")
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
