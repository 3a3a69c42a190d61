"""What verbs and functions are given: a plan, an engine, a folder, an archive, or a stored run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.plan_source import (
    NOTHING_BESIDE,
    Beside,
    PlanSource,
    Say,
    silent,
    source_of_run,
)
from enginescope.store.location import StorePlace

#: A stored run's own file.
_RUN_DOCUMENT = "run.json"
_SHOWN_NAMES = 8
#: So much of a file tells a plan's JSON from an engine.
_HEAD_BYTES = 4096
#: What is looked for as a file and never as a run's name.
_FILES = frozenset({".json", ".tea", ".zip", ".engine", ".plan", ".trt"})


def plan_source(
    what: str,
    beside: Beside = NOTHING_BESIDE,
    *,
    store_folder: StorePlace | None = None,
    say: Say = silent,
) -> PlanSource:
    """Return the one engine that `what` stands for; see `plan_sources`.

    Raises
    ------
    UsageError
        A folder holds several plans.
    """
    found = plan_sources(what, beside, store_folder=store_folder, say=say)
    if len(found) == 1:
        return found[0]
    names = ", ".join(sorted(one.name for one in found)[:_SHOWN_NAMES])
    if len(found) > _SHOWN_NAMES:
        names += f" and {len(found) - _SHOWN_NAMES} more"
    hint = "give the plan's JSON file"
    if found[0].kind == "archive":
        hint = f"enginescope archive extract {what}, then give the plan's JSON file"
    raise UsageError(f"{what} holds {len(found)} plans", why=names, hint=hint)


def plan_sources(
    what: str,
    beside: Beside = NOTHING_BESIDE,
    *,
    store_folder: StorePlace | None = None,
    say: Say = silent,
) -> tuple[PlanSource, ...]:
    """Return the engines with a plan that `what` stands for; see `sources`.

    A run is returned whether it has a plan or not, and so is an archive without any.

    Raises
    ------
    UsageError
        There is no plan in a folder.
    """
    found = sources(what, beside, store_folder=store_folder, say=say)
    planned = tuple(one for one in found if one.plan is not None)
    if planned or found[0].kind != "folder":
        return planned or found
    raise UsageError(
        f"{what} holds no plans", hint="give a folder with what trtexec --exportLayerInfo wrote"
    )


def sources(
    what: str,
    beside: Beside = NOTHING_BESIDE,
    *,
    store_folder: StorePlace | None = None,
    say: Say = silent,
) -> tuple[PlanSource, ...]:
    """Return all that `what` stands for; a path goes before a run of the same name.

    Parameters
    ----------
    what : str
        A plan's JSON, with the files beside it that are named like it; an engine, where TensorRT
        is installed; a folder or an archive of files, for every engine in it; or a run: its
        folder, its ``run.json``, the beginning of its id, a tag, ``latest``, ``latest~2``.
    beside : Beside
        Files to read in place of those found beside a plan file.
    store_folder : Path or DatabaseUrl, optional
        Where runs are looked for.
    say : callable (str), optional
        Is told what takes long, and what is left out.

    Raises
    ------
    UsageError
        There is nothing of that name, or nothing in the folder; or files were named beside
        something else than a plan file.
    FormatError
        A file cannot be used.
    StoreError
        There is no such run, or several.
    MissingDependencyError, BackendError
        An engine cannot be asked here.
    """
    path = Path(what)
    is_run = path.name == _RUN_DOCUMENT or (path / _RUN_DOCUMENT).is_file()
    if path.is_file() and not is_run:
        return _of_any_file(path, beside, say)
    if any(beside):
        raise _nothing_beside(path)
    if path.is_dir() and not is_run:
        return tuple(_of_folder(path))
    if path.suffix.lower() in _FILES and not path.exists():
        raise UsageError(f"{what} does not exist", hint="give a plan's JSON file, or a run")
    from enginescope.store.archive import Store

    return (source_of_run(Store(store_folder).load(what)),)


def is_archive(path: Path) -> bool:
    """Whether a path is an archive: a zip file, or called one."""
    from enginescope.core.safe_zip import ZIP_TAGS

    if not path.is_file():
        return False
    return path.suffix.lower() == ".tea" or _head(path).startswith(ZIP_TAGS)


def _of_any_file(path: Path, beside: Beside, say: Say) -> tuple[PlanSource, ...]:
    from enginescope.formats.engine_file import is_engine_file
    from enginescope.formats.foreign_text import decode_text

    if is_archive(path):
        if any(beside):
            raise _nothing_beside(path)
        from enginescope.archive_source import archive_sources

        return archive_sources(path, say)
    head = _head(path)
    text, _ = decode_text(head, path.name)
    if not text.lstrip().startswith(("{", "[")) and is_engine_file(head, path.suffix):
        from enginescope.engine_source import engine_source

        return (engine_source(path, beside, say=say),)
    return (_of_plan_file(path, beside),)


def _nothing_beside(path: Path) -> UsageError:
    return UsageError(
        "files beside a plan can only be named with a plan file",
        why=f"{path} is no plan file",
        hint="give the plan's JSON file",
    )


def _head(path: Path) -> bytes:
    from enginescope.core.errors import FormatError

    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError as error:
        raise FormatError(str(path), why=error.strerror or str(error)) from error


def _of_plan_file(path: Path, beside: Beside) -> PlanSource:
    from enginescope.formats.plan_files import PlanFiles, read_plan_files

    read = read_plan_files(PlanFiles(plan=path, **beside._asdict()))
    report = read.report
    return PlanSource(
        kind="file",
        where=str(path),
        name=read.plan.name,
        plan=read.plan,
        profile=read.profile,
        times=read.times,
        devices=(report.device,) if report and report.device else (),
        report=report,
        notices=read.notices,
        artifacts=read.artifacts,
    )


def _of_folder(folder: Path) -> Iterator[PlanSource]:
    from enginescope.formats.importer import import_artifacts

    for run in import_artifacts([folder]).runs:
        file = next((one.path for one in run.artifacts if one.kind == "plan"), str(folder))
        yield source_of_run(run, kind="folder", where=file)
