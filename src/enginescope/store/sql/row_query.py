"""Listings as plain SQL, for drivers that are asked without SQLAlchemy."""

from __future__ import annotations

from typing import Any, NamedTuple

from enginescope.store.row import Filter, RunRow, search_key

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
