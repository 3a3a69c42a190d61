"""Words and tables that the charts of the report card share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from enginescope.judge.units import format_significant
from enginescope.render.html.images import ChartTable

NOT_KNOWN = "not known"
#: How the row begins that stands for those left out.
LEFT_OUT = "… "
#: Most rows of the table behind a picture.
_TABLE_ROWS = 250


class NumberText(str):
    """A number as it is shown, with the number itself."""

    __slots__ = ("value",)
    value: float

    def __new__(cls, value: float, digits: int) -> NumberText:
        text = super().__new__(cls, format_significant(value, digits))
        text.value = value
        return text


def figure(value: float | None, digits: int = 4) -> str:
    """Return a number, or a dash where it is not known."""
    return "—" if value is None else NumberText(value, digits)


def shape(extents: Sequence[int] | None) -> str:
    return "×".join(str(extent) for extent in extents) if extents else NOT_KNOWN


def table_of_tips(rows: Sequence[Mapping[str, object]], tips: Mapping[str, str]) -> ChartTable:
    """Return the rows under the titles of their tooltips."""
    headers = (title.removesuffix("#") for title in tips.values())
    cells = (tuple(_cell(row[field]) for field in tips) for row in rows)
    return table_of(tuple(f"{one[:1].upper()}{one[1:]}" for one in headers), cells, len(rows))


def _cell(value: object) -> str:
    if value is None or isinstance(value, float):
        return figure(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def table_of(
    headers: tuple[str, ...], rows: Iterable[tuple[str, ...]], total: int | None = None
) -> ChartTable:
    """Return the table behind a picture; a long one ends in how many rows are left out.

    Args:
        rows: No more are made than the table has.
        total: How many there are; by default they are counted.
    """
    if total is None:
        rows = list(rows)
        total = len(rows)
    shown = tuple(islice(rows, _TABLE_ROWS))
    if total > len(shown):
        shown = (*shown, (f"{LEFT_OUT}{total - len(shown):,} more", *("" for _ in headers[1:])))
    return ChartTable(headers=headers, rows=shown)
