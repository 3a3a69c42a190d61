"""Tables in text files of other tools: headings with units, and values as printed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from enginescope.core.record import Record

_HEADING = re.compile(r"(.*?)\s*\(([^()]*)\)")
_GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
#: Unit -> power of ten that makes it milliseconds.
_POWERS = {
    **dict.fromkeys(("ns", "nsec", "nanoseconds"), -6),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microseconds"), -3),
    **dict.fromkeys(("ms", "msec", "milliseconds"), 0),
    **dict.fromkeys(("s", "sec", "seconds"), 3),
}


def name_and_unit(text: str) -> tuple[str, str | None]:
    """Return a heading without its unit, and the unit in its last parentheses.

    >>> name_and_unit("Total Time (ns)")
    ('Total Time', 'ns')
    """
    match = _HEADING.fullmatch(text.strip())
    return (match[1], match[2]) if match else (text.strip(), None)


def heading(name: str, unit: str | None) -> str:
    """Return the heading of a column."""
    return f"{name} ({unit})" if unit else name


def number(value: Any) -> Decimal | None:
    """Return a finite number as it is printed; ``None`` for anything else.

    Args:
        value: A number of JSON, or a text, which may group thousands by commas.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        return None
    text = str(value).strip()
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    try:
        parsed = Decimal(text)
    except InvalidOperation:
        return None
    return parsed if parsed.is_finite() else None


def exact_milliseconds(value: Any, unit: str | None) -> Decimal | None:
    """Return a time in ms without rounding; ``None``: not a number, or not a unit of time."""
    power, parsed = _POWERS.get(unit or ""), number(value)
    return None if power is None or parsed is None else parsed.scaleb(power)


def milliseconds(value: Any, unit: str | None) -> float | None:
    """Return what `exact_milliseconds` does, rounded once."""
    exact = exact_milliseconds(value, unit)
    return None if exact is None else float(exact)


class Table(Record, frozen=True, kw_only=True):
    """A table of a text file.

    Attributes:
        headings: As printed.
        rows: As many cells each as there are headings.
        damaged: Rows with another number of cells.
    """

    headings: tuple[str, ...]
    rows: tuple[Sequence[str], ...]
    damaged: int = 0

    @property
    def units(self) -> dict[str, str | None]:
        """Unit by the name of the column."""
        return dict(map(name_and_unit, self.headings))

    def records(self) -> Iterator[dict[str, str]]:
        """Yield each row by the names of the columns, which have no units."""
        names = [name_and_unit(heading)[0] for heading in self.headings]
        for row in self.rows:
            yield dict(zip(names, row, strict=True))


def tables_in(
    text: str, is_heading: Callable[[Sequence[str]], bool], separator: str = ","
) -> tuple[tuple[Table, ...], int]:
    """Return the tables whose headings are known, and the number of rows in all other tables.

    A table ends at an empty line, at a line of prose, at the next headings, or with the text.
    """
    tables: list[tuple[list[str], list[list[str]]]] = []
    is_open = False
    others = 0
    lines = io.StringIO(text.replace("\0", ""), newline="")
    for row in csv.reader(lines, delimiter=separator, skipinitialspace=True):
        width = len(tables[-1][0]) if is_open else 0
        while len(row) > width and not row[-1]:
            row.pop()  # a separator at the end of the line
        if is_heading(row):
            tables.append((row, []))
            is_open = True
        elif not any(row) or (len(row) == 1 and number(row[0]) is None):
            is_open = False
        elif is_open:
            tables[-1][1].append(row)
        else:
            others += len(row) > 2
    return tuple(_table(headings, rows) for headings, rows in tables), others


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    whole = tuple(row for row in rows if len(row) == len(headings))
    return Table(headings=tuple(headings), rows=whole, damaged=len(rows) - len(whole))
