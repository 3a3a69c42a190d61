"""Comparisons of outputs for a report: named files, files of runs, and files in archives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.errors import FormatError, StoreError, UsageError
from enginescope.services.plans.observer import PlanObserver
from enginescope.services.plans.plan_input import PlanInput
from enginescope.services.plans.resolve_plan import is_archive

if TYPE_CHECKING:
    from enginescope.render.validation.report_answers import ReportedAnswers
    from enginescope.store.location import StorePlace

_NAME = "output_diff.json"
_KIND = "output_diff"


def named_outputs(paths: Sequence[Path]) -> tuple[ReportedAnswers, ...]:
    """Return the comparisons in files, or in folders that ``validate --output`` wrote.

    Raises:
        UsageError: There is none.
        FormatError: A file cannot be read as one.
    """
    return tuple(_read(_file(path), str(path)) for path in paths)


def stored_outputs(
    sources: Sequence[PlanInput], store: StorePlace | None, observer: PlanObserver
) -> tuple[ReportedAnswers, ...]:
    """Return the comparisons that were imported with runs, or lie beside their files, each once."""
    found: dict[str, ReportedAnswers] = {}
    for source in sources:
        run = source.run if source.kind != "archive" else None
        for artifact in run.artifacts if run else ():
            if artifact.kind != _KIND or (artifact.sha256 or artifact.path) in found:
                continue
            path = _place(source, artifact.path, store)
            if path is None:
                observer.warn(
                    f"{source.label}: its comparison of outputs, {artifact.path}, does not exist"
                )
                continue
            try:
                named = f"{path.name} of {source.label}" if source.kind == "run" else str(path)
                found[artifact.sha256 or artifact.path] = _read(path, named)
            except FormatError as error:
                observer.warn(f"{source.label}: {error}")
    return tuple(found.values())


def archived_outputs(names: Sequence[str], observer: PlanObserver) -> tuple[ReportedAnswers, ...]:
    """Return the comparisons in those of the names that are archives; each once."""
    from enginescope.services.plans.archive_input import unpacked

    found: dict[bytes, ReportedAnswers] = {}
    for archive in (Path(name) for name in names if is_archive(Path(name))):
        with unpacked(archive, observer) as held:
            for entry in held.contents.entries:
                path = held.folder / entry.name
                if path.name != _NAME and entry.kind != _KIND:
                    continue
                try:
                    found[path.read_bytes()] = _read(path, f"{archive}/{entry.name}")
                except (OSError, FormatError) as error:
                    observer.warn(f"{archive}/{entry.name}: {error}")
    return tuple(found.values())


def _place(source: PlanInput, path: str, store: StorePlace | None) -> Path | None:
    if source.kind in ("run", "view"):
        from enginescope.store.archive import Store

        try:
            files = Store(store).artifact_paths(source.where)
        except StoreError:  # a view of a run that is not stored
            files = ()
        stored = next((file for file in files if file.name == Path(path).name), None)
        if stored is not None or source.kind == "run":
            return stored
    return Path(path) if Path(path).is_file() else None


def _file(path: Path) -> Path:
    file = path / _NAME if path.is_dir() else path
    if file.is_file():
        return file
    why = f"it holds no {_NAME}" if path.is_dir() else "no such file or folder"
    raise UsageError(f"outputs {path}", why=why, hint="a folder of validate --output")


def _read(path: Path, source: str) -> ReportedAnswers:
    from enginescope.analysis.validation.validation import stored_validation
    from enginescope.core.jsonio import read_bytes
    from enginescope.formats.lenient_json import read_json
    from enginescope.formats.tensors.output_diff_file import foreign_differences, is_ours
    from enginescope.render.validation.report_answers import ReportedAnswers

    value = read_json(read_bytes(path), str(path)).value
    if is_ours(value):
        return ReportedAnswers(source=source, validation=stored_validation(value, str(path)))
    foreign = foreign_differences(value)
    if not foreign:
        raise FormatError(
            str(path), why="not a comparison of outputs", expected=f"{_NAME} of validate"
        )
    return ReportedAnswers(source=source, foreign=foreign)
