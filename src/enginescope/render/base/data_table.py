"""Tables of the page that sort, filter and scroll, whatever their length.

A table is kept by columns: its script reads them as they are, and only the rows in sight are in the
document. Its first rows are written into the page for readers without JavaScript.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from enginescope.core.record import Record

#: Rows written into the page itself; the others are in its data.
STATIC_ROWS = 100
UNKNOWN = "—"
_MOST_PLACES = 12
#: A column of texts is written as words and their places where each word comes so often.
_REPEATS = 3


class DataColumn(Record, frozen=True, kw_only=True):
    """One column.

    Attributes:
        title: With its unit.
        values: Texts or numbers, unrounded; ``None``: not known.
        places: Decimals of a number that is shown; ``None``: texts.
        digits: Least significant digits of it: a small number is shown with more decimals for them.
        meaning: What it is, where the title does not say all.
        is_choice: Readers may pick one of its texts.
        is_mark: Readers may ask for the rows that have something here.
        is_share: A number that a bar stands behind.
        leads_to: Key of another table, as `DataTable.key`: the cells lead to its rows in
            `rows_there`.
    """

    title: str
    values: tuple[Any, ...]
    places: int | None = None
    digits: int = 0
    meaning: str | None = None
    is_choice: bool = False
    is_mark: bool = False
    is_share: bool = False
    leads_to: str | None = None
    rows_there: tuple[int | None, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether any row has a value."""
        return any(value is not None for value in self.values)

    def text(self, row: int) -> str:
        """Return a cell as it is shown."""
        value = self.values[row]
        if self.places is None:
            return value or ""
        if value is None:
            return UNKNOWN
        places = self.places
        if value and self.digits and math.isfinite(value):
            needed = self.digits - 1 - math.floor(math.log10(abs(value)))
            places = min(max(places, needed), _MOST_PLACES)
        return f"{value:,.{places}f}"

    def packed(self) -> dict[str, Any]:
        """Return the column for the page's data; what is not set is left out."""
        marks = ("is_choice", "is_mark", "is_share")
        return {
            "title": self.title,
            "places": self.places,
            **({"digits": self.digits} if self.digits else {}),
            **({"leads_to": self.leads_to, "rows_there": self.rows_there} if self.leads_to else {}),
            **{name: True for name in marks if getattr(self, name)},
            **self._packed_values(),
        }

    def _packed_values(self) -> dict[str, Any]:
        if self.places is not None:
            return {"values": self.values}
        words = {word: at for at, word in enumerate(dict.fromkeys(self.values))}
        if len(words) * _REPEATS > len(self.values) and not self.is_choice:
            return {"values": self.values}
        return {"words": list(words), "at": [words[value] for value in self.values]}


class DataTable(Record, frozen=True, kw_only=True):
    """One table.

    Attributes:
        key: Part of its anchor; unique among a run's tables.
        caption: What is listed, and in which order.
        noun: What a row is, one and several.
        columns: Of equal length; those in which nothing is known are left out.
    """

    key: str
    caption: str
    noun: tuple[str, str]
    columns: tuple[DataColumn, ...]

    @property
    def length(self) -> int:
        """Rows."""
        return len(self.columns[0].values) if self.columns else 0

    def static_rows(self) -> list[list[str]]:
        """Return the first rows as texts."""
        rows = range(min(self.length, STATIC_ROWS))
        return [[column.text(row) for column in self.columns] for row in rows]

    def packed(self) -> dict[str, Any]:
        """Return the table for the page's data."""
        return {
            "key": self.key,
            "caption": self.caption,
            "noun": self.noun,
            "length": self.length,
            "columns": [one.packed() for one in self.columns],
        }


def column(title: str, values: Iterable[Any], places: int | None = None, **more: Any) -> DataColumn:
    """Return a column; `more` are the other fields of `DataColumn`."""
    return DataColumn(title=title, values=tuple(values), places=places, **more)


def data_table(
    key: str, caption: str, noun: tuple[str, str], columns: Sequence[DataColumn]
) -> DataTable | None:
    """Return a table of the columns in which anything is known; ``None`` without a row."""
    known = tuple(one for one in columns if one.is_known)
    if not known:
        return None
    return DataTable(key=key, caption=caption, noun=noun, columns=known)
