"""Comparisons of answers for a report: files that were named, and those kept with runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.cli.options import note
from enginescope.core.errors import FormatError, UsageError

if TYPE_CHECKING:
    from enginescope.plan_source import PlanSource
    from enginescope.render.report_answers import ReportedAnswers
    from enginescope.store.location import StorePlace

_NAME = "output_diff.json"
_KIND = "output_diff"


def named_answers(paths: Sequence[Path]) -> tuple[ReportedAnswers, ...]:
    """Return the comparisons in files, or in folders that ``validate --output`` wrote.

    Raises
    ------
    UsageError
        There is none.
    FormatError
        A file cannot be read as one.
    """
    return tuple(_read(_file(one), str(one)) for one in paths)


def kept_answers(
    sources: Sequence[PlanSource], store_folder: StorePlace | None
) -> tuple[ReportedAnswers, ...]:
    """Return the comparisons that were imported with runs, or lie beside their files; each once."""
    found: dict[str, ReportedAnswers] = {}
    for source in sources:
        run = source.run if source.kind != "archive" else None
        for artifact in run.artifacts if run else ():
            if artifact.kind != _KIND or (artifact.sha256 or artifact.path) in found:
                continue
            path = _place(source, artifact.path, store_folder)
            if path is None:
                note(f"{source.label}: its comparison of answers, {artifact.path}, is not there")
                continue
            try:
                named = f"{path.name} of {source.label}" if source.kind == "run" else str(path)
                found[artifact.sha256 or artifact.path] = _read(path, named)
            except FormatError as error:
                note(f"{source.label}: {error}")
    return tuple(found.values())


def archived_answers(names: Sequence[str]) -> tuple[ReportedAnswers, ...]:
    """Return the comparisons in those of the names that are archives; each once."""
    from enginescope.archive_source import unpacked
    from enginescope.plan_sources import is_archive

    found: dict[bytes, ReportedAnswers] = {}
    for archive in (Path(name) for name in names if is_archive(Path(name))):
        with unpacked(archive, note) as held:
            for entry in held.contents.entries:
                path = held.folder / entry.name
                if path.name != _NAME and entry.kind != _KIND:
                    continue
                try:
                    found[path.read_bytes()] = _read(path, f"{archive}/{entry.name}")
                except (OSError, FormatError) as error:
                    note(f"{archive}/{entry.name}: {error}")
    return tuple(found.values())


def _place(source: PlanSource, path: str, store_folder: StorePlace | None) -> Path | None:
    if source.kind == "run":
        from enginescope.store.archive import Store

        kept = Store(store_folder).artifact_paths(source.where)
        return next((one for one in kept if one.name == Path(path).name), None)
    return Path(path) if Path(path).is_file() else None


def _file(path: Path) -> Path:
    file = path / _NAME if path.is_dir() else path
    if file.is_file():
        return file
    why = f"it holds no {_NAME}" if path.is_dir() else "there is no such file or folder"
    raise UsageError(f"answers {path}", why=why, hint="a folder of validate --output")


def _read(path: Path, source: str) -> ReportedAnswers:
    from enginescope.analysis.stored_validation import stored_validation
    from enginescope.core.jsonio import read_bytes
    from enginescope.formats.lenient_json import read_json
    from enginescope.formats.output_diff_file import foreign_differences, is_ours
    from enginescope.render.report_answers import ReportedAnswers

    value = read_json(read_bytes(path), str(path)).value
    if is_ours(value):
        return ReportedAnswers(source=source, validation=stored_validation(value, str(path)))
    foreign = foreign_differences(value)
    if not foreign:
        raise FormatError(
            str(path), why="no comparison of answers", expected=f"{_NAME} of validate"
        )
    return ReportedAnswers(source=source, foreign=foreign)
