"""An answer with its facts and tables: as JSON, as Markdown, and for pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.core.record import Record, replace
from enginescope.judge.notice import Notice
from enginescope.records.notice import weightiest
from enginescope.render.base.data_table import escaped, markdown_row
from enginescope.render.base.figures import Figures, TextTable


class AnswerTables(Record, frozen=True, kw_only=True, eq=False):
    """What a verb has found.

    Attributes:
        answer: One line.
        facts: Names and texts.
        tables: The first one belongs to the answer.
        screen: In place of `tables` on a terminal.
    """

    answer: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[TextTable, ...] = ()
    screen: tuple[TextTable, ...] = ()
    notices: tuple[Notice, ...] = ()


def stated(*facts: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
    """Return the facts that have a text."""
    return tuple((name, text) for name, text in facts if text)


def page_figures(text_table: TextTable, sentences: Sequence[str] = ()) -> Figures:
    """Return a table whose cells have no line breaks.

    Args:
        sentences: Headers of columns that are broken as sentences.
    """
    figures = text_table.figures()
    rows = tuple(tuple(cell.replace("\n", "; ") for cell in row) for row in figures.rows)
    broken = tuple(at for at, name in enumerate(text_table.headers) if name in sentences)
    return replace(figures, rows=rows, sentences=broken)


def answer_json(schema: int, **fields: Any) -> bytes:
    """Return fields as strict JSON, below the version of their shape and that of enginescope."""
    return encode({"schema": schema, "enginescope": __version__, **fields})


def answer_markdown(answered: AnswerTables) -> bytes:
    """Return the answer, what it is about, the tables with their notes, and the notices."""
    facts = (f"- {escaped(name)}: {escaped(text)}" for name, text in answered.facts)
    lines = [f"### enginescope: {escaped(answered.answer)}", "", *facts]
    for at, part in enumerate(answered.tables):
        title = escaped(part.title)
        table = [*table_lines(part), *(["", escaped(part.note)] if part.note else [])]
        if part.is_detail:
            lines += ["", f"<details><summary>{title}</summary>", *table, "", "</details>"]
        else:
            lines += [*(["", f"**{title}**"] if at else []), *table]
    every = weightiest(answered.notices)
    items = [f"- {escaped(notice.message)} ({notice.code})" for notice in every]
    return ("\n".join([*lines, *([""] if items else []), *items]) + "\n").encode()


def table_lines(part: TextTable) -> list[str]:
    """Return a table after a blank line; whole figures do not break."""
    marks = ["---:" if name in part.numbers else "---" for name in part.headers]
    fixed = {at for at, name in enumerate(part.headers) if name in {*part.whole} & {*part.numbers}}
    rows = (
        [
            escaped(cell.replace("\n", "; ")).replace(" ", "\u00a0" if at in fixed else " ")
            for at, cell in enumerate(row)
        ]
        for row in part.rows
    )
    return ["", *map(markdown_row, (list(map(escaped, part.headers)), marks, *rows))]


def on_screen(part: TextTable) -> TextTable:
    """Return a table as a terminal shows it: some columns left out, long names last."""
    kept = [at for at, name in enumerate(part.headers) if name not in part.file_columns]
    if part.has_long_names:
        kept = [*kept[1:], *kept[:1]]
    rows = tuple(tuple(row[at] for at in kept) for row in part.rows)
    return replace(part, headers=tuple(part.headers[at] for at in kept), rows=rows)
