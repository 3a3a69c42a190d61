"""Tables as an Excel workbook that opens without running anything."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from io import BytesIO
from typing import Any

from enginescope._version import __version__
from enginescope.core.errors import UsageError
from enginescope.core.optional import require
from enginescope.core.record import Record

#: What a sheet holds at most, its header included.
MOST_ROWS = 1_048_576
#: Letters of a cell; beyond them a text is cut.
MOST_LETTERS = 32_767
_CUT = " … (cut at the most letters that a cell of Excel holds)"
#: Whole numbers beyond this lose digits in a cell, so they are text.
_EXACT = 2**53
#: Text that would become a formula as soon as somebody edits the cell.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: Characters that XML cannot hold at all.
_NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
_NARROWEST, _WIDEST = 6, 60
#: Of every workbook, so that the same tables make the same file.
_CREATED = datetime(2000, 1, 1, tzinfo=timezone.utc)
#: How milliseconds and whole numbers look.
MS, WHOLE = "0.00000", "#,##0"
#: So many rows are looked at for the width of a column.
_LOOKED_AT = 500


class SheetColumn(Record, frozen=True, kw_only=True):
    """A column of a sheet.

    Attributes:
        header: With the unit.
        number_format: Excel's, for its numbers: ``0.0000``. The whole value stays in the cell.
    """

    header: str
    number_format: str | None = None


class Sheet(Record, frozen=True, kw_only=True):
    """A sheet with one table from its first cell on.

    Attributes:
        title: At most 31 letters.
        rows: Cells are text, numbers, truths, or ``None`` for an empty one.
        fixed_columns: So many stay in view when the rest is scrolled sideways.
    """

    title: str
    columns: tuple[SheetColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    fixed_columns: int = 0


def workbook_bytes(sheets: Sequence[Sheet], *, title: str) -> bytes:
    """Return an ``.xlsx`` file: header rows stay in view, tables can be filtered.

    On paper a table is as wide as a page, with its header on each.

    Raises:
        MissingDependencyError: XlsxWriter is not installed.
        UsageError: A table has more rows than a sheet holds.
    """
    writer = require("xlsxwriter", purpose="writing Excel files", install="enginescope[xlsx]")
    for sheet in sheets:
        if len(sheet.rows) >= MOST_ROWS:
            raise UsageError(
                f"sheet {sheet.title} has {len(sheet.rows):,} rows",
                why=f"a sheet of Excel holds {MOST_ROWS:,}",
                hint="--csv FILE has no limit",
            )
    stream = BytesIO()
    # nothing is guessed from a text: neither formulas nor links nor numbers
    book = writer.Workbook(
        stream,
        {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False},
    )
    properties = {"title": _text(title), "comments": f"enginescope {__version__}"}
    book.set_properties({**properties, "created": _CREATED})
    looks = _Looks(book)
    for sheet in sheets:
        _write(book.add_worksheet(sheet.title), sheet, looks)
    book.close()
    return stream.getvalue()


class _Looks:
    """Formats of cells, each made once."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._numbers: dict[str | None, Any] = {None: None}
        self.header = book.add_format({"bold": True, "bottom": 1, "text_wrap": True})
        self.quoted = book.add_format({"quote_prefix": True})

    def number(self, number_format: str | None) -> Any:
        if number_format not in self._numbers:
            made = self._book.add_format({"num_format": number_format})
            self._numbers[number_format] = made
        return self._numbers[number_format]


def _write(page: Any, sheet: Sheet, looks: _Looks) -> None:
    for at, column in enumerate(sheet.columns):
        page.write_string(0, at, column.header, looks.header)
        page.set_column(at, at, _width(sheet, at))
    page.freeze_panes(1, sheet.fixed_columns)
    page.set_landscape()
    page.fit_to_pages(1, 0)  # as wide as a page, as long as it takes
    page.repeat_rows(0)
    if sheet.rows:
        page.autofilter(0, 0, len(sheet.rows), len(sheet.columns) - 1)
    formats = [looks.number(one.number_format) for one in sheet.columns]
    for number, row in enumerate(sheet.rows, start=1):
        for at, value in enumerate(row):
            _write_cell(page, (number, at), value, formats[at], looks)


def _write_cell(
    page: Any, place: tuple[int, int], value: Any, number_format: Any, looks: _Looks
) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        page.write_boolean(*place, value)
    elif isinstance(value, (int, float)) and math.isfinite(value) and abs(value) <= _EXACT:
        page.write_number(*place, value, number_format)
    else:
        text = _text(str(value))
        quoted = looks.quoted if text.startswith(_FORMULA) else None
        page.write_string(*place, text, quoted)


def _text(text: str) -> str:
    text = _NO_XML.sub("\ufffd", text)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - len(_CUT)] + _CUT


def _width(sheet: Sheet, at: int) -> int:
    """Return a column's width in letters, by its header's longest word and its first cells."""
    words = sheet.columns[at].header.split()
    longest = max((len(word) + 2 for word in words), default=0)  # the filter's button
    shown = (_shown_letters(row[at]) for row in sheet.rows[:_LOOKED_AT])
    return min(_WIDEST, max(_NARROWEST, longest, *shown, 0) + 1)


def _shown_letters(value: Any) -> int:
    if value is None:
        return 0
    return 9 if isinstance(value, float) else len(str(value))
