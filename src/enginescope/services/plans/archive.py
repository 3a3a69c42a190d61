"""Archive: an engine and all that explains it in one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from enginescope.core.errors import EnginescopeError, UsageError, os_errors_as
from enginescope.core.jsonio import sha256_of
from enginescope.core.record import Record, Result
from enginescope.core.suggest import did_you_mean
from enginescope.formats.archive import engine_archive
from enginescope.formats.importing.artifact_kinds import ArtifactKind
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.importing.plan_files import neighbours
from enginescope.records.run.run import Run
from enginescope.services.observer import PlanObserver
from enginescope.services.output_files import check_outputs
from enginescope.services.store_access import place_of
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace


class ArchiveRequest(Record, frozen=True, kw_only=True):
    """What goes into an archive; see `archive`.

    Files of a folder keep their paths below it, below its name where there are several. A run
    brings its folder, and the engine that it was measured with, if that file is unchanged.
    """

    archive: Path
    files: tuple[str, ...]
    without: tuple[str, ...] = ()
    only: bool = False
    force: bool = False
    store: StorePlace | None = None


class CreatedArchive(Result, Record, frozen=True, kw_only=True):
    """An archive that was written.

    Attributes:
        companions: Files that were not named, and are read with a plan that was.
    """

    path: Path
    manifest: engine_archive.Manifest
    companions: tuple[Path, ...] = ()


def create_archive(request: ArchiveRequest, observer: PlanObserver) -> CreatedArchive:
    """Write an archive from files, folders of them, and stored runs."""
    archive = request.archive
    check_outputs([archive], request.files)
    if archive.exists() and not request.force:
        raise UsageError(f"{archive} already exists", hint="`force` overwrites it")
    named = _named(request.files, request.store)
    companions = () if request.only else _companions(named.alone, [path for path, _ in named.files])
    files = [*named.files, *((path, path.name) for path in companions)]
    own = archive.resolve()
    known = [_known(path, name) for path, name in files if path.resolve() != own]
    left = tuple(file for file in known if file.kind not in request.without)
    if not left:
        names = ", ".join(request.files)
        raise UsageError("no plans and no runs to archive", why=f"no files in {names}")
    taken = {file.path for file in left}
    companions = tuple(path for path in companions if path in taken)
    check_outputs([archive], companions)
    subjects = (*subjects_of(named.runs), *subjects_of(_imported(left)))
    manifest = engine_archive.write_tea(archive, left, subjects)
    observer.file_written(archive)
    return CreatedArchive(path=archive, manifest=manifest, companions=companions)


def archive(
    archive: str | PathLike[str],
    *files: str | PathLike[str],
    without: Sequence[str] = (),
    only: bool = False,
    force: bool = False,
    store: str | PathLike[str] | None = None,
) -> CreatedArchive:
    """Write an engine and the files that explain it to one archive, a ``.tea``.

    Args:
        *files: Files, folders, and stored runs.
        without: Kinds of files to skip: ``"engine"``, ``"timing_cache"``, ``"model"``.
        only: Skip the times and metadata that are named like a plan's file.
        force: Overwrite a file of that name.
        store: Store of the runs; by default the command line's.

    Raises:
        UsageError: The archive exists, a file cannot be read, or nothing is left.
        StoreError: There is no such file, folder or run.
    """
    request = ArchiveRequest(
        archive=Path(archive),
        files=tuple(map(str, files)),
        without=tuple(without),
        only=only,
        force=force,
        store=place_of(store),
    )
    return create_archive(request, PlanObserver())


def extract_archive(archive: Path, names: Sequence[str], folder: Path | None) -> tuple[Path, ...]:
    """Write files of an archive to a folder, checked against their SHA-256; without names, all."""
    known = [entry.name for entry in engine_archive.read_tea(archive).entries]
    for name in names:
        if name not in known:
            hint = f"{did_you_mean(name, known)}; `output` names a folder"
            raise UsageError(f"{archive} has no {name}", hint=hint)
    folder = folder or archive.with_name(archive.stem if archive.suffix else f"{archive.name}.d")
    return tuple(
        engine_archive.extract_tea(archive, folder, lambda entry: not names or entry.name in names)
    )


class _Named(NamedTuple):
    """What names stand for: files with their paths in the archive, and runs.

    `alone` are the files that were named themselves, not a folder or a run that holds them.
    """

    files: tuple[tuple[Path, str], ...]
    alone: tuple[Path, ...]
    runs: tuple[Run, ...]


def _named(what: Sequence[str], store: StorePlace | None) -> _Named:
    files: list[tuple[Path, str]] = []
    alone: list[Path] = []
    runs: list[Run] = []
    for name in what:
        path = Path(name)
        if path.is_dir() and not (path / engine_archive.RUN_DOCUMENT).is_file():
            files += _of_folder(path, f"{path.resolve().name}/" if len(what) > 1 else "")
        elif path.is_file() and path.name != engine_archive.RUN_DOCUMENT:
            files.append((path, path.name))
            alone.append(path)
        else:
            run = Store(store).load(name)
            files += _of_folder(Store(store).folder_of(name), f"{engine_archive.RUNS}/{run.id}/")
            engine = _engine_of(run)
            files += [(engine, engine.name)] if engine is not None else []
            runs.append(run)
    return _Named(tuple(files), tuple(alone), tuple(runs))


def _companions(named: Iterable[Path], others: Iterable[Path]) -> tuple[Path, ...]:
    """Return the files that are read with the plans among some files, and are not named."""
    have = {path.resolve() for path in others}
    found = {}
    for path in named:
        more = [neighbour for neighbour in neighbours(path) if neighbour.resolve() not in have]
        if more and _known(path, path.name).kind == ArtifactKind.PLAN.value:
            found.update({one.resolve(): one for one in more})
    return tuple(found.values())


def _of_folder(folder: Path, top: str) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in below.parts)
        if not hidden and path.is_file() and not path.is_symlink():
            yield path, f"{top}{below.as_posix()}"


def _engine_of(run: Run) -> Path | None:
    """Return the engine that a run was about, where it is known to be still the same file."""
    if run.build is not None and Path(run.build.engine).is_file():
        return Path(run.build.engine)  # in the cache, under the digest of what it was built from
    subject = run.job.subject
    if subject.kind != "engine" or subject.path is None or subject.sha256 is None:
        return None
    path = Path(subject.path)
    return path if path.is_file() and sha256_of(path) == subject.sha256 else None


def _known(path: Path, name: str) -> engine_archive.TeaFile:
    with os_errors_as(UsageError, f"cannot read {path}"):
        return engine_archive.tea_file(path, name)


def _imported(files: Iterable[engine_archive.TeaFile]) -> tuple[Run, ...]:
    loose = [file.path for file in files if file.kind != "run"]
    try:
        return import_artifacts(loose).runs if loose else ()
    except EnginescopeError:  # nothing that tells of an engine: archived all the same
        return ()


def subjects_of(runs: Iterable[Run]) -> Iterator[engine_archive.TeaSubject]:
    """Yield what a manifest says of each run: versions, devices, command."""
    for run in runs:
        yield engine_archive.TeaSubject(
            name=run.job.subject.name,
            versions=dict(run.environment.versions),
            devices=run.environment.devices,
            command=run.command,
        )
