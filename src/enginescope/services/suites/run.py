"""Run a suite: resume it, run its cells where the request says, and write its tables."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from enginescope.analysis.frames import to_parquet
from enginescope.analysis.suites.suite_table import NUMBERS, tidy_columns
from enginescope.analysis.suites.suite_view import SuiteView, perf_tables
from enginescope.backends.registry import read_spec
from enginescope.core.errors import MissingDependencyError, StoreError, UsageError, os_errors_as
from enginescope.core.jsonio import write_atomic
from enginescope.core.record import Record, replace
from enginescope.core.suggest import closest
from enginescope.records.suite.suite import Suite, SuiteMode, SuitePlan, SuiteResult
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.suites.suite_page import suite_files, suite_page
from enginescope.runner.environment_fingerprint import environment_fingerprint
from enginescope.runner.fleet.environment import Environment
from enginescope.runner.suites.suite_cells import Fingerprints, resume_state, worker_slots
from enginescope.services.store_access import own_command, place_of, store_at
from enginescope.services.suites.cell import now
from enginescope.services.suites.request import (
    SuiteObserver,
    SuiteRequest,
    ThisMachine,
    cells_in,
    fleet_for,
    folder_for,
    resolve_suite,
)
from enginescope.services.suites.session import FleetSession, SuiteSession
from enginescope.services.suites.stream import SuiteStream, outbox_of, sink_for
from enginescope.store.archive import Store
from enginescope.store.suite_folder import (
    SUITES,
    WRITING_S,
    SuiteFolder,
    suite_folders,
    suite_named,
)


def open_suite(name: str | PathLike[str], *, store: str | PathLike[str] | None = None) -> SuiteView:
    """Open a suite that ran, finished or not.

    Args:
        name: Name of the suite in the store, or its folder.
        store: Folder or database of runs; by default ``$ENGINESCOPE_HOME``, else the platform's.

    Raises:
        UsageError: The store has no such suite.
        FormatError: The suite's plan cannot be read.
    """
    text = fspath(name)
    home = store_at(store).suite_home()
    folder = suite_named(text, home)
    if folder is None:
        names = [known.path.name for known in suite_folders(home)]
        near = closest(text, names)
        why = f"{home} has {', '.join(names) if names else 'none'}"
        hint = f"did you mean {near}?" if near else "enginescope suite SUITE runs one"
        raise UsageError(f"no suite {text!r}", why=why, hint=hint)
    return SuiteView(folder.result())


#: Folder of the tables that ONNX Runtime's scripts wrote.
PERF_FOLDER = "ort_perf"


def write_tables(result: SuiteResult, folder: Path, observer: SuiteObserver) -> None:
    columns = tidy_columns(result)
    files = suite_files(result)
    try:
        files["results.parquet"] = to_parquet(columns, numbers=NUMBERS)
    except MissingDependencyError as error:
        observer.table_skipped("results.parquet", f"{error.what}; {error.hint}")
    files["suite.html"] = suite_page(result)
    # the scripts' form of a time in file names: 20260131-235959
    digits = "".join(sign for sign in result.plan.created[:19] if sign.isdigit() or sign == "T")
    stamp = digits.replace("T", "-")
    for table in perf_tables(result):
        name = f"{PERF_FOLDER}/benchmark_{table.name}_{stamp}.csv"
        files[name] = csv_bytes(table.headers, table.rows)
    with os_errors_as(StoreError, f"cannot write to {folder}"):
        (folder / PERF_FOLDER).mkdir(exist_ok=True)
        for name, data in files.items():
            write_atomic(folder / name, data)


class SuiteRun(Record, frozen=True, kw_only=True):
    """Result of a session.

    Attributes:
        result: The suite after the session, with rows that could not be stored.
        problem: Why the session ended before its last cell; ``None``: it did not.
        unsent: What the database or the server does not have, why, and what sends it; ``None``:
            nothing.
    """

    result: SuiteResult
    folder: Path
    problem: str | None = None
    unsent: str | None = None


def run_suite(
    source: str | PathLike[str] | SuiteRequest,
    *,
    backends: Sequence[str] | None = None,
    name: str | None = None,
    mode: SuiteMode | None = None,
    jobs: int | None = None,
    retry_failed: bool | None = None,
    retry_busy: bool | None = None,
    store: str | PathLike[str] | None = None,
    observer: SuiteObserver | None = None,
) -> SuiteView:
    """Run many models on many backends, each combination in processes of its own.

    A run that was interrupted resumes with the same call: cells that ended are not run again while
    models, options and versions stay the same.

    Args:
        source: Suite file, folder of models, or a `SuiteRequest`, which has every option. The
            keyword arguments replace what it says.
        backends: As in ``["ort-cpu", "trt:fp16"]``.
        name: Name of the suite: its folder's, and the tag of its runs.
        mode: ``"benchmark"``, ``"validate"``, or ``"both"``: measure correct cells only.
        jobs: Cells at a time on this machine, each on cores of its own.
        retry_failed: Run cells again that failed before.
        retry_busy: Run cells again that were measured on a busy machine.
        store: Folder or database of runs.
        observer: Receives progress, and cancels: see `SuiteObserver`.

    Returns:
        The suite with a row for each cell that ended. A cell that failed is a row with its reason.

    Raises:
        UsageError: A model, backend or option cannot be used.
        FormatError: The suite file cannot be read.
        StoreError: The store or the suite's folder cannot be written.
        BackendError: A fleet has no machines.
    """
    values = {
        "backends": None if backends is None else tuple(backends),
        "name": name,
        "mode": mode,
        "place": None if jobs is None else ThisMachine(jobs=jobs),
        "retry_failed": retry_failed,
        "retry_busy": retry_busy,
        "store": place_of(store),
    }
    request = source if isinstance(source, SuiteRequest) else SuiteRequest(source=Path(source))
    request = replace(
        request,
        command=request.command or own_command(),
        **{key: value for key, value in values.items() if value is not None},
    )
    observer = observer or SuiteObserver()
    run = run_suite_session(request, observer)
    if run.problem is not None:
        observer.warn(f"{run.problem}; make space and run the suite again to resume")
    if run.unsent is not None:
        observer.warn(run.unsent)
    return SuiteView(run.result)


def run_suite_session(request: SuiteRequest, observer: SuiteObserver) -> SuiteRun:
    """Run the cells of a suite that are not done, and write its tables.

    The rows of ended cells are stored and the tables are written, however this ends.
    """
    store, place = Store(request.store), request.place
    suite = resolve_suite(request, store)
    fingerprints = _fingerprints(suite, place) if isinstance(place, ThisMachine) else None
    folder = folder_for(suite, request, store)
    outbox = outbox_of(store, folder)
    sink = sink_for(request, store, outbox, observer)
    problem: StoreError | None = None
    with folder.held(WRITING_S):
        store.check_writable()
        plan = _plan(suite, request, folder, store, observer)
        with SuiteStream(plan, folder, sink, observer) as stream:
            usual = SuiteFolder(store.suite_home() / SUITES / suite.name)
            # a new folder gets the rows that the store has
            earlier = {} if folder.exists or not usual.exists else usual.rows()
            folder.begin(plan)
            folder.keep(*(earlier[cell.key] for cell in plan.cells if cell.key in earlier))
            try:
                _run_session(plan, request, folder, outbox, fingerprints, observer)
            except StoreError as error:
                if not folder.unstored:
                    raise
                problem = error
            finally:  # also if the session was interrupted
                result = folder.result()
                observer.session_ended(result)
                if not folder.unstored:
                    write_tables(result, folder.path, observer)
    unsent = stream.unsent
    if problem is None:
        return SuiteRun(result=result, folder=folder.path, unsent=unsent)
    cells = ", ".join(row.cell.label for row in folder.unstored)
    text = f"the suite ended early: {cells} ran but is not stored: {problem}"
    return SuiteRun(result=result, folder=folder.path, problem=text, unsent=unsent)


def _plan(
    suite: Suite, request: SuiteRequest, folder: SuiteFolder, store: Store, observer: SuiteObserver
) -> SuitePlan:
    """Return the plan; the observer is warned if the folder has that of another source."""
    created, source = now(), str(request.source.resolve())
    if folder.exists:
        former = folder.plan()
        created = former.created
        if former.source not in (None, source):
            observer.warn(
                f"{suite.name} was {former.source} before; --name NAME keeps the two apart"
            )
    return SuitePlan(
        suite=suite,
        cells=cells_in(suite, store),
        created=created,
        command=request.command,
        source=source,
        store=str(store.place),
    )


def _run_session(
    plan: SuitePlan,
    request: SuiteRequest,
    folder: SuiteFolder,
    store: Store,
    fingerprints: Fingerprints | None,
    observer: SuiteObserver,
) -> None:
    place = request.place
    state = resume_state(
        plan.cells,
        folder.rows(),
        fingerprints,
        retry_failed=request.retry_failed,
        retry_busy=request.retry_busy,
    )
    observer.session_started(plan, state)
    if isinstance(place, ThisMachine):
        assert fingerprints is not None
        session = SuiteSession(plan, folder, store, fingerprints, observer)
        session.run(state.todo, worker_slots(place.jobs))
    else:
        fleet = fleet_for(place, folder.path)
        FleetSession(plan, folder, store, observer).run(state.todo, fleet)


def _fingerprints(suite: Suite, place: ThisMachine) -> Fingerprints:
    cores = len(worker_slots(place.jobs)[0]) or None
    specs = [read_spec(spec) for model in suite.models for spec in model.backends]
    names = dict.fromkeys(spec.environment for spec in specs if spec.environment is not None)
    return Fingerprints(
        own=environment_fingerprint(cores),
        environments={
            name: Environment(name, suite.environments[name]).conditions(cores) for name in names
        },
    )
