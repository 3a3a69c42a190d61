"""Import: the files of other tools as runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import Record
from enginescope.formats.importing.importer import Imported, LedgerEntry
from enginescope.formats.importing.importer import import_artifacts as read_artifacts
from enginescope.records.run.run import Run
from enginescope.services.observer import PlanObserver
from enginescope.services.plans.plan_input import inspected_engines, nothing_in, unpacked
from enginescope.services.plans.resolve_plan import is_archive
from enginescope.services.store_access import place_of
from enginescope.store.archive import Store, load_path


class ImportRequest(Record, frozen=True, kw_only=True):
    """Which files, and where to store their runs; see `import_artifacts`."""

    paths: tuple[Path, ...]
    tags: tuple[str, ...] = ()
    store: Store | None = None


class ImportObserver(PlanObserver):
    """Receives what was read of each file too."""

    def read_files(self, ledger: Sequence[LedgerEntry]) -> None:
        """Report the files of the runs, and what was left out of each."""


def import_runs(request: ImportRequest, observer: ImportObserver) -> tuple[Run, ...]:
    """Return the runs in files of other tools, one for each engine; store them where requested.

    Nothing is stored before every file was read.
    """
    archives = [path for path in request.paths if is_archive(path)]
    loose = [path for path in request.paths if path not in archives]
    imported = read_artifacts(loose) if loose else None
    runs = list(_imported(imported, request, observer)) if imported else []
    for archive in archives:
        runs += _of_archive(archive, request, observer)
    return tuple(runs)


def import_artifacts(
    *paths: str | PathLike[str], tags: Sequence[str] = (), store: str | PathLike[str] | None = None
) -> tuple[RunView, ...]:
    """Return the runs in files that other tools wrote, one for each engine.

    Args:
        *paths: Files, folders or archives: trtexec's times, profile and layer information; logs
            of trtexec, TensorRT scripts and Polygraphy; trex's metadata; profiles of ONNX Runtime
            and PyTorch; JSON of hyperfine, Google Benchmark and nvbench. Their content decides.
        tags: Names for the runs in the store.
        store: Store to keep the runs in; by default they are not stored.

    Raises:
        UsageError: A path does not exist, or nothing in it can be read.
        FormatError: An archive is damaged.
    """
    place = place_of(store)
    request = ImportRequest(
        paths=tuple(map(Path, paths)),
        tags=tuple(tags),
        store=Store(place) if place is not None else None,
    )
    return tuple(map(RunView, import_runs(request, ImportObserver())))


def _imported(
    imported: Imported, request: ImportRequest, observer: ImportObserver
) -> Iterator[Run]:
    observer.read_files(imported.ledger)
    for run in imported.runs:
        yield _stored(run, request)
    for path, reason in imported.skipped:
        observer.warn(f"not imported: {path}: {reason}")


def _stored(run: Run, request: ImportRequest, folder: Path | None = None) -> Run:
    if request.store is None:
        return run
    request.store.save(run, tags=request.tags, files_from=folder)
    return request.store.load(run.id)


def _of_archive(archive: Path, request: ImportRequest, observer: ImportObserver) -> list[Run]:
    with unpacked(archive, observer) as contents:
        runs = [_stored(load_path(folder), request, folder) for folder in contents.runs]
        runs += _imported(contents.imported(), request, observer)
        if not runs:  # trex's archives hold no plan: TensorRT inspects the engine
            sources = inspected_engines(contents, observer)
            runs = [_stored(source.as_run(), request) for source in sources]
        if not runs:
            raise nothing_in(archive, contents.contents)
    return runs
