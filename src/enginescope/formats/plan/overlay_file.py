"""A user's own figures of layers: a CSV or JSON file of names and values."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from enginescope.core.errors import FormatError, UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import closest
from enginescope.formats.lenient_json import decode_text, finite_number, read_json
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import Plan

_EXPECTED = 'lines NAME,VALUE, {"NAME": VALUE, …} or [{"name": NAME, "value": VALUE}, …]'
_MOST_NAMED = 5


class Overlay(Record, frozen=True, kw_only=True):
    """Figures by `Layer.index`, and what they are: the CSV's header, else the file's name."""

    title: str
    values: Mapping[int, float]


def read_overlay(data: bytes, source: str, plan: Plan) -> tuple[Overlay, tuple[Notice, ...]]:
    """Return the figures of a plan's layers, with a notice on names that it does not have.

    Raises:
        FormatError: A value is not a finite number, or a name is there twice.
        UsageError: No name is a layer's.
    """
    title, pairs = PurePath(source).stem, []
    if PurePath(source).suffix.lower() == ".json":
        pairs = list(_of_json(read_json(data, source).value, source))
    else:
        rows = [row for row in csv.reader(decode_text(data, source)[0].splitlines()) if row]
        if rows and len(rows[0]) > 1 and _number(rows[0][-1]) is None:
            title = rows.pop(0)[-1].strip() or title
        pairs = [(",".join(row[:-1]).strip(), _number(row[-1])) for row in rows]
    figures: dict[str, float] = {}
    for name, value in pairs:
        if value is None or name in figures:
            why = f"{name!r} is there twice" if name in figures else f"{name!r} has no finite value"
            raise FormatError(source, why=why, expected=_EXPECTED)
        figures[name] = value
    names = {layer.name for layer in plan.layers}
    unknown = [name for name in figures if name not in names]
    if len(unknown) == len(figures):
        near = closest(unknown[0], names) if unknown else None
        why = f"no layer of {plan.name} has a name of it"
        hint = f"{unknown[0]!r} is near {near!r}" if near else f"it is read as {_EXPECTED}"
        raise UsageError(source, why=why, hint=hint)
    values = {layer.index: figures[layer.name] for layer in plan.layers if layer.name in figures}
    notices = (_unmatched(source, unknown, len(figures), plan),) if unknown else ()
    return Overlay(title=title, values=values), notices


def _of_json(value: Any, source: str) -> Iterator[tuple[str, float | None]]:
    if isinstance(value, dict):
        yield from ((name, finite_number(one)) for name, one in value.items())
    elif isinstance(value, list) and all(isinstance(one, dict) and "name" in one for one in value):
        yield from ((str(one["name"]), finite_number(one.get("value"))) for one in value)
    else:
        raise FormatError(source, why="it has no names and values", expected=_EXPECTED)


def _number(text: str) -> float | None:
    try:
        return finite_number(float(text))
    except ValueError:
        return None


def _unmatched(source: str, names: list[str], count: int, plan: Plan) -> Notice:
    some = ", ".join(names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    unknown = f"{len(names):,} of {count:,} names are not layers of {plan.name}"
    message = f"{source}: {unknown}: {some}{more}"
    return Notice("W-OVERLAY", message, {"file": source, "names": names})
