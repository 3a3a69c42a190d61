"""Rows of runs as plain SQL: of SQLite, of PostgreSQL, and of what SQLAlchemy has opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from enginescope.store.row import Filter, RunRow, search_key

COLUMNS = tuple(name for name in RunRow.__struct_fields__ if name != "tags")
#: Ids in one statement; databases bound the number of parameters.
CHUNK = 500

#: Runs a statement with its parameters.
Execute: TypeAlias = Callable[[str, list[Any]], Iterable[Any]]


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


SQLITE = Speech(mark="?", place_of="instr", no_limit=-1)
POSTGRES = Speech(mark="%s", place_of="strpos", no_limit=None)


def find_rows(execute: Execute, wanted: Filter, speech: Speech) -> tuple[RunRow, ...]:
    """Return the rows that fit, the newest first."""
    query, parameters = _listing(wanted, speech)
    found = list(execute(query, parameters))
    ids = [values[0] for values in found]
    query = "SELECT run_id, tag FROM tags"
    if len(ids) <= CHUNK:
        query += f" WHERE run_id IN ({', '.join(speech.mark for _ in ids) or 'NULL'})"
    tags: dict[str, tuple[str, ...]] = {}
    for run_id, tag in execute(f"{query} ORDER BY tag", ids if len(ids) <= CHUNK else []):
        tags[run_id] = (*tags.get(run_id, ()), tag)
    return tuple(
        RunRow(**dict(zip(COLUMNS, values, strict=True)), tags=tags.get(values[0], ()))
        for values in found
    )


def _listing(wanted: Filter, speech: Speech) -> tuple[str, list[Any]]:
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
    query = f"SELECT {', '.join(COLUMNS)} FROM runs{where} ORDER BY created DESC, id"  # noqa: S608 - no value in it
    query += " LIMIT {mark} OFFSET {mark}"
    parameters += [speech.no_limit if wanted.limit is None else wanted.limit, wanted.offset]
    return query.format(mark=speech.mark, place_of=speech.place_of), parameters
