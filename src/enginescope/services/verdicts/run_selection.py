"""Select runs by name: a folder, a file, a suite, a tag, an id, a model."""

import os
from collections.abc import Callable, Iterable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import EnginescopeError, FormatError, StoreError, UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.importing.importer import import_artifacts
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import CellRow, SuitePlan
from enginescope.services.store_access import selected_rows
from enginescope.store.archive import Store, load_path
from enginescope.store.location import DatabaseUrl, recorded_place
from enginescope.store.row import Filter
from enginescope.store.run_folder import read_run, unpack
from enginescope.store.run_names import is_tag, steps_back
from enginescope.store.suite_folder import SuiteFolder, suite_named

Named: TypeAlias = RunView | str | PathLike[str] | Sequence[RunView | str | PathLike[str]]
#: libpq's, which sends it to any server that asks; ~/.pgpass names the server of each password.
_SENT_TO_ALL = "PGPASSWORD"


def runs_of_suite(suite: SuiteFolder, store: Store, warn: Callable[[str], None]) -> tuple[Run, ...]:
    """Return the runs of a suite's cells: the last processes of each, none of former versions.

    A run that `store` does not have is read from the store that the suite was run with. `warn`
    receives how many runs neither has, and which files of the suite cannot be read.
    """
    result = suite.result()
    for notice in result.notices:
        warn(f"{notice.message} ({notice.code})")
    ids = [run_id for row in result.rows for run_id in row.run_ids]
    missing = [run_id for run_id in ids if not store.has(run_id)]
    other = _store_of(result.plan, missing, store, warn) if missing else None
    stores = [store] if other is None else [store, other]
    runs = [run for run_id in ids if (run := _loaded(run_id, stores)) is not None]
    if len(runs) < len(ids):
        warn(f"{len(ids) - len(runs):,} of {len(ids):,} runs of {suite.path} are not stored here")
    return tuple(runs)


def rows_of_suites(names: Iterable[object], store: Store) -> tuple[CellRow, ...]:
    """Return the rows of the suites among `names`; skip anything else."""
    texts = [name for name in names if isinstance(name, str)]
    suites = [suite_named(name, store.suite_home()) for name in texts]
    return tuple(row for suite in suites if suite is not None for row in suite.result().rows)


def _store_of(
    plan: SuitePlan, missing: Sequence[str], here: Store, warn: Callable[[str], None]
) -> Store | None:
    if plan.store is None or plan.store == str(here.place):
        return None
    try:
        place = recorded_place(plan.store)
        file = place.file if isinstance(place, DatabaseUrl) else place
        if file is not None:
            return Store(place) if file.exists() else None
        if _SENT_TO_ALL in os.environ:
            warn(
                f"the runs of {plan.suite.name} are in {place}, which was not queried: "
                f"${_SENT_TO_ALL} would go to any machine that a suite names; add --store URL"
            )
            return None
        store = Store(place)
        store.has(missing[0])  # a server that does not answer is asked once, not for every run
    except EnginescopeError as error:
        warn(f"the store that {plan.suite.name} was run with: {error}")
        return None
    return store


def _loaded(name: str, stores: Iterable[Store]) -> Run | None:
    return next((store.load_id(name) for store in stores if store.has(name)), None)


_DOCUMENT = "run.json"
Warn: TypeAlias = Callable[[str], None]
#: Runs in a request: names and runs, which are taken together.
RunsInput: TypeAlias = tuple[str | Run, ...]
#: Tag of runs that a gate made because its jobs were inconclusive.
MEASURED_AGAIN = "measured-again"
#: Earlier runs of a job that are read to estimate how much sessions differ.
MOST_EARLIER = 200


def input_of(what: Named) -> RunsInput:
    """Convert an argument of the Python API to names and runs."""
    items = (what,) if isinstance(what, RunView | str | PathLike) else what
    return tuple(item.given if isinstance(item, RunView) else fspath(item) for item in items)


def resolve_runs(what: RunsInput, store: Store, warn: Warn) -> tuple[Run, ...]:
    """Return runs, and the runs that names stand for, each run once.

    Args:
        what: A name is a suite's folder or its name in the store; a folder of runs: a store, a
            folder of run folders or of their zip files, the folder of one run; a zip file that
            ``runs export`` wrote; a folder or file of another tool; a tag, for all its runs; the
            beginning of an id, ``latest``, ``latest~2``, which count runs with samples only. A path
            goes before a tag or an id.
        warn: Receives what is skipped, and why.
    """
    runs: list[Run] = []
    for item in what:
        runs += _runs_named(item, store, warn) if isinstance(item, str) else (item,)
    return tuple({run.id: run for run in runs}.values())


def _runs_named(name: str, store: Store, warn: Warn) -> tuple[Run, ...]:
    suite = suite_named(name, store.suite_home())
    if suite is not None:
        return runs_of_suite(suite, store, warn)
    path = Path(name)
    if path.is_dir():
        return runs_in_folder(path, warn) or _imported(path, warn)
    if path.name == _DOCUMENT and path.is_file():
        return (load_path(path),)
    if path.is_file():
        return (_of_zip(path),) if path.suffix == ".zip" else _imported(path, warn)
    back = steps_back(name)
    if back is not None:
        return (_latest(name, back, store, warn),)
    return tagged_runs(name, store, warn) or (store.load(name),)


def _latest(name: str, back: int, store: Store, warn: Warn) -> Run:
    """Return the newest run with samples, or a failed one; an imported plan alone has neither."""
    rows = store.rows()
    usable = [row for row in rows if row.samples or row.outcome != "ok"]
    if len(usable) <= back:
        why = f"{len(usable):,} of {len(rows):,} runs in {store.place} have samples"
        hint = "enginescope bench MODEL.onnx, or enginescope import PATH with times"
        raise StoreError(f"run {name!r}", why=why, hint=hint)
    skipped = rows.index(usable[back]) - back
    if skipped:
        runs = f"{skipped:,} newer {'run' if skipped == 1 else 'runs'}"
        warn(f"{name}: run {usable[back].id}; skipped {runs} without samples")
    return store.load(usable[back].id)


def tagged_runs(tag: str, store: Store, warn: Warn) -> tuple[Run, ...]:
    """Return the stored runs with a tag, the newest first; none if `tag` cannot be a tag."""
    rows = selected_rows(store, Filter(tag=tag), warn) if is_tag(tag) else ()
    return tuple(store.load(row.id) for row in rows)


def readable_runs(ids: Iterable[str], store: Store, warn: Warn) -> tuple[Run, ...]:
    """Return stored runs; skip a run that cannot be read, and report how to remove it."""
    runs = []
    for run_id in ids:
        try:
            runs.append(store.load_id(run_id))
        except (FormatError, StoreError) as error:
            next_step = f"; {error.hint}" if error.hint else ""
            warn(f"skipped: run {run_id}: {error}{next_step}")
    return tuple(runs)


def check_one_job(runs: Sequence[Run], what: str) -> None:
    """Raise `UsageError` unless the runs of a side are processes of one job."""
    jobs = {_job_key(run) for run in runs}
    if len(jobs) > 1:
        why = ", ".join(sorted({" · ".join(key[:2]) for key in jobs}))
        hint = "the runs of a side must belong to one job; name runs by their ids"
        raise UsageError(f"{what} is of {len(jobs)} jobs", why=why, hint=hint)


def _job_key(run: Run) -> tuple[str, ...]:
    """Return what processes of one job share; imported files rarely name their model."""
    subject = run.job.subject
    shapes = str([(one.name, one.shape) for one in run.inputs])
    if subject.kind == "unknown":
        return "imported", str(run.job.backend), shapes
    return subject.name, str(run.job.backend), subject.sha256 or "", shapes


def runs_of_model(
    model: str,
    store: Store,
    warn: Warn,
    *,
    backend: str | None = None,
    tag: str | None = None,
    last: int | None = None,
) -> tuple[Run, ...]:
    """Return the `last` stored runs of a model, the oldest first; `warn` of skipped ones.

    The model is a name, a part of one, or a path; an exact name goes before a part. The backend is
    the beginning of its specification.
    """
    name = Path(model).name
    rows = selected_rows(store, Filter(model=name, backend=backend, tag=tag), warn)
    names = {row.model for row in rows if f"/{model}".endswith(f"/{row.model}")}
    exact = [row for row in rows if row.model == max(names, key=len, default=None)]
    chosen = (exact or list(rows))[:last]
    if chosen:
        return readable_runs([row.id for row in reversed(chosen)], store, warn)
    known = {row.model for row in store.rows()}
    hint = did_you_mean(name, known) if known else "enginescope bench MODEL makes one"
    raise UsageError(f"no runs of {model}", why=f"in {store.place}, with these filters", hint=hint)


def runs_since(baseline: Sequence[Run], store: Store) -> tuple[Run, ...]:
    """Return the stored runs that are newer than a baseline; raise `UsageError` if none is."""
    newest = max(run.created for run in baseline)
    newer = (row for row in store.rows() if row.created > newest)
    rows = [row for row in newer if MEASURED_AGAIN not in row.tags]
    if not rows:
        why = f"the store {store.place} has none that is newer than the baseline's"
        hint = "enginescope bench MODEL…, or name the runs after the options"
        raise UsageError("no current runs", why=why, hint=hint)
    return tuple(store.load(row.id) for row in rows)


def earlier_runs(baseline: Sequence[Run], store: Store, warn: Warn) -> tuple[Run, ...]:
    """Return other successful runs of a baseline's jobs in a store, the newest `MOST_EARLIER`."""
    ids = {run.id for run in baseline}
    jobs = {(run.job.subject.name, str(run.job.backend)) for run in baseline}
    chosen: list[str] = []
    for model, backend in sorted(jobs):
        rows = store.rows(model=model, backend=backend, outcome="ok")
        same = [row.id for row in rows if (row.model, row.backend) == (model, backend)]
        chosen += [run_id for run_id in same[:MOST_EARLIER] if run_id not in ids]
    return readable_runs(chosen, store, warn)


def interleaved_sides(runs: Sequence[Run]) -> tuple[tuple[Run, ...], tuple[Run, ...]] | None:
    """Split the runs of an interleaved comparison into its first side and the others."""
    if not all(run.turn is not None for run in runs):
        return None
    first = tuple(run for run in runs if run.turn and run.turn.side == "A")
    others = tuple(run for run in runs if run.turn and run.turn.side != "A")
    return (first, others) if first and others else None


def runs_in_folder(folder: Path, warn: Warn) -> tuple[Run, ...]:
    """Return the stored runs in a folder: a store, one run, or folders and zip files of runs."""
    if (folder / _DOCUMENT).is_file():
        return (load_path(folder),)
    inside = folder / "runs" if (folder / "runs").is_dir() else folder
    runs: list[Run] = []
    for path in sorted(path for path in inside.iterdir() if not path.name.startswith(".")):
        try:
            if (path / _DOCUMENT).is_file():
                runs.append(load_path(path))
            elif path.suffix == ".zip":
                runs.append(_of_zip(path))
        except (FormatError, StoreError) as error:
            warn(f"skipped: {error}")
    return tuple(runs)


def _of_zip(path: Path) -> Run:
    with temporary_folder() as folder:
        unpack(path, folder)
        return read_run(folder, source=str(path))


def _imported(path: Path, warn: Warn) -> tuple[Run, ...]:
    imported = import_artifacts([path])
    for skipped, reason in imported.skipped:
        warn(f"skipped: {skipped}: {reason}")
    return imported.runs
