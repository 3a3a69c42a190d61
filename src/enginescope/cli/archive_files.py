"""What goes into an archive: files, folders of them, and stored runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from enginescope.core.digest import sha256_of
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import Record
from enginescope.formats.importer import import_artifacts
from enginescope.formats.plan_files import neighbours
from enginescope.formats.recognise import ArtifactKind
from enginescope.formats.tea_kinds import RUN_DOCUMENT, RUNS
from enginescope.formats.tea_manifest import TeaSubject
from enginescope.formats.tea_writer import TeaFile, tea_file
from enginescope.model.run import Run
from enginescope.store.archive import Store

if TYPE_CHECKING:
    from enginescope.store.location import StorePlace


class Gathered(Record, frozen=True, kw_only=True):
    """What is to be archived, and of which engines it tells.

    Attributes
    ----------
    files : tuple of TeaFile
    subjects : tuple of TeaSubject
    beside : tuple of Path
        Files that were not named, and are read with a plan that was.
    """

    files: tuple[TeaFile, ...]
    subjects: tuple[TeaSubject, ...]
    beside: tuple[Path, ...] = ()


def gathered(
    what: Sequence[str],
    *,
    store_folder: StorePlace | None = None,
    without: Iterable[str] = (),
    only: bool = False,
    target: Path | None = None,
) -> Gathered:
    """Return the files that names stand for.

    Files of a folder keep their paths below it, below its name where there are several. A run
    brings its folder, and the engine it was built or measured with, if that is still the same.

    Parameters
    ----------
    what : sequence of str
        Files, folders, and runs.
    without : iterable of str
        Kinds to leave out: ``"engine"``.
    only : bool
        Of a plan's file no neighbours: neither times nor metadata that are named like it.
    target : Path, optional
        The archive: left out where it lies in one of the folders.

    Raises
    ------
    UsageError
        A file cannot be read, or nothing is left.
    StoreError
        There is no such file, folder or run.
    """
    named = _named(what, store_folder)
    beside = () if only else _beside(named.alone, [path for path, _ in named.files])
    files = [*named.files, *((path, path.name) for path in beside)]
    own = target.resolve() if target is not None else None
    dropped = frozenset(without)
    made = [_known(path, name) for path, name in files if path.resolve() != own]
    kept = tuple(one for one in made if one.kind not in dropped)
    if not kept:
        raise UsageError("there is nothing to archive", why=f"no files in {', '.join(what)}")
    subjects = (*_subjects(named.runs), *_subjects(_imported(kept)))
    taken = {one.path for one in kept}
    left = tuple(one for one in beside if one in taken)
    return Gathered(files=kept, subjects=subjects, beside=left)


class _Named(NamedTuple):
    """What names stand for: files with their paths in the archive, and runs.

    `alone` are the files that were named themselves, not a folder or a run that holds them.
    """

    files: tuple[tuple[Path, str], ...]
    alone: tuple[Path, ...]
    runs: tuple[Run, ...]


def _named(what: Sequence[str], store_folder: StorePlace | None) -> _Named:
    files: list[tuple[Path, str]] = []
    alone: list[Path] = []
    runs: list[Run] = []
    for name in what:
        path = Path(name)
        if path.is_dir() and not (path / RUN_DOCUMENT).is_file():
            files += _of_folder(path, f"{path.resolve().name}/" if len(what) > 1 else "")
        elif path.is_file() and path.name != RUN_DOCUMENT:
            files.append((path, path.name))
            alone.append(path)
        else:
            found, run = _of_run(name, store_folder)
            files += found
            runs.append(run)
    return _Named(tuple(files), tuple(alone), tuple(runs))


def _beside(named: Iterable[Path], given: Iterable[Path]) -> tuple[Path, ...]:
    """Return what is read with the plans among some files, and is not given itself."""
    have = {path.resolve() for path in given}
    found = {}
    for path in named:
        more = [one for one in neighbours(path) if one.resolve() not in have]
        if more and _known(path, path.name).kind == ArtifactKind.PLAN.value:
            found.update({one.resolve(): one for one in more})
    return tuple(found.values())


def _of_folder(folder: Path, top: str) -> Iterator[tuple[Path, str]]:
    """Every file in a folder, hidden ones and links left out."""
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in below.parts)
        if not hidden and path.is_file() and not path.is_symlink():
            yield path, f"{top}{below.as_posix()}"


def _of_run(name: str, store_folder: StorePlace | None) -> tuple[list[tuple[Path, str]], Run]:
    store = Store(store_folder)
    folder, run = store.folder_of(name), store.load(name)
    files = list(_of_folder(folder, f"{RUNS}/{run.id}/"))
    engine = _engine_of(run)
    if engine is not None:
        files.append((engine, engine.name))
    return files, run


def _engine_of(run: Run) -> Path | None:
    """Return the engine that a run was about, where it is known to be still the same file."""
    if run.build is not None and Path(run.build.engine).is_file():
        return Path(run.build.engine)  # in the cache, under the digest of what it was built from
    subject = run.job.subject
    if subject.kind != "engine" or subject.path is None or subject.sha256 is None:
        return None
    path = Path(subject.path)
    return path if path.is_file() and sha256_of(path) == subject.sha256 else None


def _known(path: Path, name: str) -> TeaFile:
    try:
        return tea_file(path, name)
    except OSError as error:
        raise UsageError(f"cannot read {path}", why=error.strerror or str(error)) from error


def _imported(files: Iterable[TeaFile]) -> tuple[Run, ...]:
    loose = [one.path for one in files if one.kind != "run"]
    try:
        return import_artifacts(loose).runs if loose else ()
    except EnginescopeError:  # nothing that tells of an engine: archived all the same
        return ()


def _subjects(runs: Iterable[Run]) -> Iterator[TeaSubject]:
    for run in runs:
        yield TeaSubject(
            name=run.job.subject.name,
            versions=dict(run.environment.versions),
            devices=run.environment.devices,
            command=run.command,
        )
