"""Plan inputs from an archive: its plans, runs and other files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.archive.archive_reader import (
    OPAQUE,
    RUN_DOCUMENT,
    TeaContents,
    extract_tea,
    read_tea,
)
from enginescope.formats.importing.importer import Imported, import_artifacts
from enginescope.services.observer import PlanObserver
from enginescope.services.plans.plan_input import (
    NO_COMPANIONS,
    PlanInput,
    engine_input,
    input_of_run,
)
from enginescope.store.archive import load_path

_SHOWN_NAMES = 8
_ENGINE_OF_TREX = "engine.trt"


class Unpacked(NamedTuple):
    """An archive's readable files, in a folder that is gone later.

    Attributes:
        folder: Named like the archive.
        runs: Folders of stored runs.
        files: Those that are in no run.
    """

    archive: Path
    folder: Path
    contents: TeaContents
    runs: tuple[Path, ...]
    files: tuple[Path, ...]

    def name_of(self, path: str | Path) -> str:
        """Return where a file is in the archive: ``net.tea/net.graph.json``."""
        return str(self.archive / Path(path).resolve().relative_to(self.folder.resolve()))

    def imported(self) -> Imported:
        """Return the runs in the files; none where there is nothing to read."""
        if not self.files:
            return Imported(runs=())
        try:
            found = import_artifacts(self.files)
        except UsageError:  # nothing that is known: what else is there decides
            return Imported(runs=())
        skipped = tuple((self.name_of(path), reason) for path, reason in found.skipped)
        ledger = tuple(replace(entry, path=self.name_of(entry.path)) for entry in found.ledger)
        return Imported(runs=found.runs, skipped=skipped, ledger=ledger)


@contextmanager
def unpacked(archive: Path, observer: PlanObserver) -> Iterator[Unpacked]:
    """Unpack what can be read of an archive; engines and caches stay in it.

    Raises:
        FormatError: It is not an archive, or damaged.
    """
    contents = read_tea(archive)
    if contents.unlisted:
        observer.warn(f"{archive}: not in its manifest: {', '.join(contents.unlisted)}")
    with temporary_folder() as top:
        folder = top / (archive.stem or "archive")
        paths = extract_tea(archive, folder, lambda one: one.kind not in OPAQUE)
        runs = tuple(path.parent for path in paths if path.name == RUN_DOCUMENT)
        files = tuple(path for path in paths if not any(path.is_relative_to(run) for run in runs))
        yield Unpacked(archive, folder, contents, runs, files)


def archive_inputs(archive: Path, observer: PlanObserver) -> tuple[PlanInput, ...]:
    """Return an input for each engine in an archive.

    TensorRT inspects an engine only where the archive has no plan of it.

    Raises:
        UsageError: There is nothing in it that can be read.
        FormatError: It is not an archive, or damaged.
        MissingDependencyError, BackendError: There is an engine and nothing else, and TensorRT
            cannot inspect it here.
    """
    with unpacked(archive, observer) as found:
        runs = [(load_path(one), one / RUN_DOCUMENT) for one in found.runs]
        sources = [
            input_of_run(run, kind="archive", where=found.name_of(document))
            for run, document in runs
        ]
        for run in found.imported().runs:
            plan = next(
                (artifact.path for artifact in run.artifacts if artifact.kind == "plan"), None
            )
            where = found.name_of(plan) if plan else str(archive)
            sources.append(input_of_run(run, kind="archive", where=where))
        if not any(source.plan for source in sources):
            try:
                sources = [*inspected_engines(found, observer)] or sources
            except MissingDependencyError as error:
                if not sources:
                    raise
                observer.warn(f"{error}; {error.hint}")
    if not sources:
        raise nothing_in(archive, found.contents)
    return tuple(sources)


def nothing_in(archive: Path, contents: TeaContents) -> UsageError:
    """Return the error for an archive in which nothing can be read."""
    names = [entry.name for entry in contents.entries]
    more = ", …" if len(names) > _SHOWN_NAMES else ""
    return UsageError(
        f"{archive} holds nothing that can be read",
        why=f"it has {', '.join(names[:_SHOWN_NAMES]) or 'no files'}{more}",
        hint="archives hold plans, layer times, logs, runs, or an engine",
    )


def inspected_engines(found: Unpacked, observer: PlanObserver) -> Iterator[PlanInput]:
    """Inspect the engines in an archive with TensorRT.

    Raises:
        MissingDependencyError, BackendError: TensorRT cannot inspect them here.
    """
    names = {entry.name for entry in found.contents.entries if entry.kind == "engine"}
    for path in extract_tea(found.archive, found.folder, lambda one: one.name in names):
        where = found.name_of(path)
        source = engine_input(path, NO_COMPANIONS, observer, label=where)
        # trex calls every engine so
        name = found.archive.stem if path.name == _ENGINE_OF_TREX else source.name
        yield replace(source, kind="archive", where=where, name=name)
