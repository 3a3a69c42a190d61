"""Listings as plain SQL, for drivers that are asked without SQLAlchemy.

The runs in a folder, read one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from enginescope.core.errors import FormatError, StoreError
from enginescope.core.record import Record
from enginescope.records.run.run import Run
from enginescope.store.row import Filter, RunRow, row_of, search_key
from enginescope.store.run_folder import DOCUMENT, read_run, size_of

_COLUMNS = tuple(name for name in RunRow.__struct_fields__ if name != "tags")


class Speech(NamedTuple):
    """How a database says what is not the same everywhere.

    Attributes:
        mark: Stands for a parameter.
        place_of: Function of a text and a part of it: where that begins, from 1.
        no_limit: Limit of a listing without one.
    """

    mark: str
    place_of: str
    no_limit: int | None


def listing(wanted: Filter, speech: Speech) -> tuple[str, list[Any]]:
    """Return the statement for the rows that fit, the newest first, and its parameters."""
    terms: list[str] = []
    parameters: list[Any] = []
    for term, value in (
        ("id IN (SELECT run_id FROM tags WHERE tag = {mark})", wanted.tag),
        ("{place_of}(model_key, {mark}) > 0", search_key(wanted.model)),
        ("{place_of}(backend_key, {mark}) = 1", search_key(wanted.backend)),
        ("outcome = {mark}", wanted.outcome),
    ):
        if value is not None:
            terms.append(term)
            parameters.append(value)
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    query = f"SELECT {', '.join(_COLUMNS)} FROM runs{where} ORDER BY created DESC, id"  # noqa: S608 - no value in it
    query += " LIMIT {mark} OFFSET {mark}"
    parameters += [speech.no_limit if wanted.limit is None else wanted.limit, wanted.offset]
    return query.format(mark=speech.mark, place_of=speech.place_of), parameters


def row_of_values(values: tuple[Any, ...], tags: dict[str, tuple[str, ...]]) -> RunRow:
    """Return a line of what `listing` finds.

    Args:
        tags: Of every run that has some, by its id.
    """
    return RunRow(**dict(zip(_COLUMNS, values, strict=True)), tags=tags.get(values[0], ()))


class Broken(Record, frozen=True, kw_only=True):
    """A run folder that cannot be read, and why."""

    name: str
    reason: str


class Scan(Record, frozen=True, kw_only=True):
    """What was found in folders of runs."""

    rows: tuple[RunRow, ...]
    broken: tuple[Broken, ...] = ()


class ReindexReport(Record, frozen=True, kw_only=True):
    """What making the index again has found."""

    indexed: int
    broken: tuple[Broken, ...] = ()


def read_named(folder: Path) -> Run:
    """Return the run in a store's `folder`.

    Raises:
        FormatError: It is damaged, or the folder is not named by its id.
        StoreError: A newer enginescope wrote it, or it was deleted meanwhile.
    """
    try:
        run = read_run(folder)
    except FormatError as error:
        if folder.exists():
            raise
        raise StoreError(f"run {folder.name}", why="it was deleted while it was read") from error
    if run.id != folder.name:
        path = str(folder / DOCUMENT)
        raise FormatError(path, where="id", why=f"it is {run.id!r}", expected=repr(folder.name))
    return run


def scan(runs: Path, names: Iterable[str]) -> Scan:
    """Read the runs of these names; what cannot be read is named, what has vanished is not."""
    rows, broken = [], []
    for name in names:
        folder = runs / name
        try:
            run = read_named(folder)
        except (FormatError, StoreError) as error:
            if folder.exists():
                broken.append(Broken(name=name, reason=str(error)))
            continue
        rows.append(row_of(run, size_bytes=size_of(folder)))
    return Scan(rows=tuple(rows), broken=tuple(broken))
