"""Tables of the page that sort, filter and scroll, whatever their length.

A table is kept by columns: its script reads them as they are, and only the rows in sight are in the
document. Its first rows are written into the page for readers without JavaScript. Beside them: text
that is safe in Markdown, in XML, and in CSV that spreadsheets open.
"""

import csv
import html
import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from io import StringIO
from operator import is_not
from typing import Any, TypeVar

from enginescope.core.record import Record
from enginescope.judge import units
from enginescope.judge.samples import Interval
from enginescope.judge.verdict import RatioEstimate

T = TypeVar("T")

_IS_KNOWN = partial(is_not, None)
#: Rows written into the page itself; the others are in its data.
STATIC_ROWS = 100
UNKNOWN = "—"


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
        is_hidden: Whether readers have to ask for it.
        leads_to: Key of another table, as `DataTable.key`: the cells lead to its rows in
            `rows_there`.
        texts: What is shown in place of the values, which still sort.
        links: Addresses that cells lead to.
        looks: Classes of the style sheet, ``heat-…``, one a cell.
        key: Name by which the page's scripts find the column; ``None``: they need not.
    """

    title: str
    values: tuple[Any, ...]
    places: int | None = None
    digits: int = 0
    meaning: str | None = None
    is_choice: bool = False
    is_mark: bool = False
    is_share: bool = False
    is_hidden: bool = False
    leads_to: str | None = None
    rows_there: tuple[int | None, ...] = ()
    texts: tuple[str, ...] = ()
    links: tuple[str | None, ...] = ()
    looks: tuple[str, ...] = ()
    key: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether any row has a value."""
        return any(map(_IS_KNOWN, self.values)) or any(self.texts)

    def text(self, row: int) -> str:
        """Return a cell as it is shown."""
        if self.texts:
            return self.texts[row]
        value = self.values[row]
        if self.places is None:
            return value or ""
        if value is None:
            return UNKNOWN
        places = self.places
        if value and self.digits and math.isfinite(value):
            places = min(max(places, self.digits - 1 - math.floor(math.log10(abs(value)))), 12)
        return f"{value:,.{places}f}"

    def packed(self) -> dict[str, Any]:
        """Return the column for the page's data; what is not set is left out."""
        names = (
            *("key", "digits", "meaning", "leads_to", "texts", "links", "looks"),
            *("is_choice", "is_mark", "is_share", "is_hidden"),
        )
        told = {name: found for name in names if (found := getattr(self, name))}
        rows = {"rows_there": self.rows_there} if self.leads_to else {}
        first = {"title": self.title, "places": self.places}
        return {**first, **told, **rows, **self._packed_values()}

    def _packed_values(self) -> dict[str, Any]:
        if self.places is not None:
            return {"values": self.values}
        distinct = dict.fromkeys(self.values)
        if 3 * len(distinct) > len(self.values) and not self.is_choice:
            return {"values": self.values}
        # as words and their places, where each word comes three times
        words = {word: at for at, word in enumerate(distinct)}
        return {"words": list(words), "at": list(map(words.__getitem__, self.values))}


class DataTable(Record, frozen=True, kw_only=True):
    """One table.

    Attributes:
        key: Part of its anchor; unique among a run's tables.
        caption: What is listed, and in which order.
        noun: What a row is, one and several.
        columns: Of equal length; those in which nothing is known are left out.
        aside: Rows that readers have to ask for.
        aside_words: What they are: ``launch nothing``.
    """

    key: str
    caption: str
    noun: tuple[str, str]
    columns: tuple[DataColumn, ...]
    aside: tuple[int, ...] = ()
    aside_words: str = ""

    @property
    def length(self) -> int:
        """Rows."""
        return len(self.columns[0].values) if self.columns else 0

    @property
    def shown(self) -> tuple[DataColumn, ...]:
        """The columns that a reader need not ask for."""
        return tuple(one for one in self.columns if not one.is_hidden)

    def static_rows(self) -> list[list[str]]:
        """Return the first rows of `shown` as texts."""
        rows = range(min(self.length, STATIC_ROWS))
        return [[column.text(row) for column in self.shown] for row in rows]

    def packed(self) -> dict[str, Any]:
        """Return the table for the page's data."""
        return {
            "key": self.key,
            "caption": self.caption,
            "noun": self.noun,
            "length": self.length,
            "columns": [one.packed() for one in self.columns],
            **({"aside": self.aside, "aside_words": self.aside_words} if self.aside else {}),
        }


def column(title: str, values: Iterable[Any], places: int | None = None, **more: Any) -> DataColumn:
    """Return a column; `more` are the other fields of `DataColumn`."""
    return DataColumn(title=title, values=tuple(values), places=places, **more)


def data_table(
    key: str, caption: str, noun: tuple[str, str], columns: Sequence[DataColumn]
) -> DataTable | None:
    """Return a table of the columns in which anything is known; ``None`` without a row."""
    known = tuple(one for one in columns if one.is_known)
    return DataTable(key=key, caption=caption, noun=noun, columns=known) if known else None


def places_for(values: Sequence[float | None]) -> int:
    """Return the decimals that show the largest of `values` with four significant digits."""
    most = max((abs(value) for value in values if value is not None), default=0.0)
    return min(9, max(0, 3 - math.floor(math.log10(most)) if most > 0 else 0))


def number_column(values: Sequence[float | None], *, signed: bool = False) -> list[str]:
    """Return `values` as text; a dash for what is not known.

    Args:
        signed: Whether numbers above 0 get a plus.
    """
    places = places_for(values)
    return [number_text(value, places, signed=signed) for value in values]


def number_text(value: float | None, places: int, *, signed: bool = False) -> str:
    """Return a number with so many decimals; what rounds to 0 has no sign."""
    if value is None:
        return UNKNOWN
    text = units.signed(value, places)
    return text if signed else text.lstrip("+")


def or_dash(value: T | None, as_text: Callable[[T], str]) -> str:
    """Return a value as text; a dash for what is not known."""
    return UNKNOWN if value is None else as_text(value)


_FIGURE = re.compile(r"[-−+]?[\d,]+(?:\.(\d+))?")


def aligned_rows(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return the rows of a table with one number of decimals in each column of figures.

    It is the fewest that any of them has. A column stays as it is where that would leave a figure
    less than two significant digits.
    """
    columns = [_aligned(list(column)) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _aligned(cells: list[str]) -> list[str]:
    places = [match and len(match[1] or "") for match in map(_FIGURE.fullmatch, cells)]
    texts = [cell for cell, at in zip(cells, places, strict=True) if at is not None]
    if len({at for at in places if at is not None}) < 2:
        return cells
    values = [float(text.replace(",", "").replace("−", "-")) for text in texts]
    fewest = min(at for at in places if at is not None)
    if any(value and abs(value) < 10 ** (1 - fewest) for value in values):
        return cells
    pairs = zip(values, texts, strict=True)
    shown = iter([number_text(value, fewest, signed=text[0] == "+") for value, text in pairs])
    return [cell if at is None else next(shown) for cell, at in zip(cells, places, strict=True)]


_ESCAPED = str.maketrans({sign: f"\\{sign}" for sign in r"\`*_{}[]<>#|~$&"})


def escaped(text: str) -> str:
    """Return `text` on one line, so that Markdown shows it unchanged."""
    return " ".join(printable(text).translate(_ESCAPED).split())


#: A text cell that begins so may be taken for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


def ends_of(interval: Interval | None) -> tuple[float | None, float | None]:
    """Return the cells of an interval; empty ones for none."""
    return (None, None) if interval is None else (interval.low, interval.high)


def ratio_cells(estimate: RatioEstimate | None) -> tuple[float | None, ...]:
    """Return the cells of a ratio and its interval; empty ones for none."""
    return (None, None, None) if estimate is None else (estimate.ratio, *ends_of(estimate.interval))


def csv_bytes(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return rows as CSV: UTF-8, one header line, line feeds at line ends.

    Numbers are written in full, ``None`` as an empty cell, truth as ``true`` and ``false``. Text
    that a spreadsheet would take for a formula gets an apostrophe before it; a NUL, which readers
    refuse and Python 3.10 does not write, becomes ``␀``, what is no Unicode ``�``.
    """
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(headers)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue().encode()


def _cell(value: Any) -> Any:
    if type(value) is float:  # most cells
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = _UNWRITABLE.sub(_picture, f"'{value}" if value.startswith(_FORMULA) else value)
        # The writer leaves a bare carriage return unquoted, and readers end the row there.
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    return value


# XML 1.0 has no place for these, escaped or not; TensorRT joins names by two of them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def xml_text(text: str) -> str:
    """Return `text` escaped; control characters as their pictures (``␞``), the rest as ``�``."""
    return html.escape(printable(text))


def printable(text: str) -> str:
    """Return `text` with pictures of control characters (``␞``), and ``�`` for what is no text."""
    return _FORBIDDEN.sub(_picture, text)


def inert_text(text: str) -> str:
    """Return a name of a file's with ``·`` for each character that a terminal would obey."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "·" for c in text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"
