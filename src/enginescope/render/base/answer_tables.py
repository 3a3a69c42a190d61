"""An answer with its facts and tables: as Markdown, and as a page without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from enginescope.core.record import Record
from enginescope.records.notice import Notice
from enginescope.render.base.figures import Figures, TextTable


class AnswerTables(Record, frozen=True, kw_only=True, eq=False):
    """What a verb has found.

    Attributes:
        answer: One line.
        facts: Names and texts.
        tables: The first one belongs to the answer.
    """

    answer: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[TextTable, ...]
    notices: tuple[Notice, ...] = ()


def page_figures(text_table: TextTable, sentences: Sequence[str] = ()) -> Figures:
    """Return a table whose cells have no line breaks.

    Args:
        sentences: Headers of columns that are broken as sentences.
    """
    figures = text_table.figures()
    rows = tuple(tuple(cell.replace("\n", "; ") for cell in row) for row in figures.rows)
    broken = tuple(at for at, name in enumerate(text_table.headers) if name in sentences)
    return replace(figures, rows=rows, sentences=broken)
