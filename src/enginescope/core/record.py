"""The base of every object that crosses a folder border, and how a result prints."""

from __future__ import annotations

import dataclasses
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")
R = TypeVar("R", bound="Record")

#: Items of a collection that are printed, and characters of a value.
_MOST_ITEMS, _MOST_CHARACTERS = 4, 120


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable record with typed fields, readable from and writable to JSON.

    Tuples, never lists; ``None`` for not known, never 0, −1, "" or NaN; units in field names.
    Subclasses repeat ``frozen=True, kw_only=True``: msgspec does not inherit the second, and type
    checkers do not inherit the first. Printed, long collections are counted and long values cut:
    a plan has thousands of layers.
    """

    def __repr__(self) -> str:
        """Return ``Plan(name='net', layers=<58>, …)``."""
        fields = ((name, getattr(self, name)) for name in self.__struct_fields__)
        parts = ", ".join(f"{name}={_short(value)}" for name, value in fields)
        return f"{type(self).__name__}({parts})"


def replace(record: T, /, **changes: Any) -> T:
    """Return a copy with other fields, of a `Record` or of a dataclass of the judge."""
    if isinstance(record, msgspec.Struct):
        return msgspec.structs.replace(record, **changes)
    return cast("T", dataclasses.replace(cast("Any", record), **changes))


def copied(kind: type[R], source: Record, /, **others: Any) -> R:
    """Return a record of a kind with the fields that `source` has too, and `others`."""
    shared = set(kind.__struct_fields__) & set(source.__struct_fields__)
    return kind(**{name: getattr(source, name) for name in shared} | others)


def _short(value: Any) -> str:
    if isinstance(value, tuple | list | dict | frozenset) and len(value) > _MOST_ITEMS:
        return f"<{len(value):,}>"
    text = repr(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


_WIDTH = 100
_LINES = 3
_LONGEST_TEXT = 60


class Result:
    """Base of what public functions return: prints in at most three lines of 100 columns.

    A class that lists this base directly is public, and its subclasses print under its name. A
    subclass overrides `_summary` to print a sentence in place of its fields.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """Return ``<NAME SUMMARY>``, cut to what fits."""
        from textwrap import wrap

        name = next(base.__name__ for base in type(self).__mro__ if Result in base.__bases__)
        text = f"<{name} {self._summary()}"
        lines = wrap(text, _WIDTH - 1, max_lines=_LINES, placeholder=" …", break_on_hyphens=False)
        return "\n".join(lines) + ">"

    def _summary(self) -> str:
        """Return plain fields as ``name=value``, and the number of items of collections."""
        fields: Any = getattr(self, "__struct_fields__", None)
        if fields is None:
            fields = getattr(self, "__dataclass_fields__", ())
        parts = (_field(name, getattr(self, name)) for name in fields)
        return ", ".join(part for part in parts if part)


def _field(name: str, value: Any) -> str | None:
    if isinstance(value, bool | int | float | str | Path):
        text = repr(str(value) if isinstance(value, Path) else value)
        middle = _LONGEST_TEXT // 2
        is_long = len(text) > _LONGEST_TEXT
        return f"{name}={f'{text[:middle]}…{text[-middle + 1 :]}' if is_long else text}"
    if isinstance(value, Enum):
        return f"{name}={value.value}"
    if isinstance(value, tuple | list | dict) and value:
        return f"{len(value):,} {name}"
    return None
