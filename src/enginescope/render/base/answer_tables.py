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
        more_facts: Those that a terminal shows only if asked.
        tables: The first one belongs to the answer.
        screen: In place of `tables` on a terminal.
        label: Of a part: what stands before its answer.
        parts: Answers about parts of it, below the notices.
    """

    answer: str
    facts: tuple[tuple[str, str], ...]
    more_facts: tuple[tuple[str, str], ...] = ()
    tables: tuple[TextTable, ...] = ()
    screen: tuple[TextTable, ...] = ()
    notices: tuple[Notice, ...] = ()
    label: str = ""
    parts: tuple[AnswerTables, ...] = ()

    @property
    def heading(self) -> str:
        """The answer of a part behind its label, with a capital letter."""
        text = f"{self.label}: {self.answer}" if self.label else self.answer
        return f"{text[:1].upper()}{text[1:]}" if self.label else text


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
    broken = (at for at, name in enumerate(text_table.headers) if name in sentences)
    return replace(figures, rows=rows, sentences=(*figures.sentences, *broken))


def answer_json(schema: int, **fields: Any) -> bytes:
    """Return fields as strict JSON, below the version of their shape and that of enginescope."""
    return encode({"schema": schema, "enginescope": __version__, **fields})


def answer_markdown(answered: AnswerTables) -> bytes:
    """Return the answer, what it is about, the tables with their notes, notices, and the parts."""
    lines = [f"### enginescope: {escaped(answered.answer)}", *part_lines(answered, 4)]
    return ("\n".join(lines) + "\n").encode()


def part_lines(part: AnswerTables, level: int) -> list[str]:
    """Return what a Markdown file has below an answer.

    Args:
        level: Of the headings of its parts.
    """
    every = (*part.facts, *part.more_facts)
    facts = [f"- {escaped(name)}: {escaped(text)}" for name, text in every]
    lines = ["", *facts] if facts else []
    for at, one in enumerate(part.tables):
        noted = ["", f"**{escaped(one.title)}**"] if at and not one.is_detail else []
        noted += table_lines(one)
        noted += ["", escaped(one.note)] if one.note else []
        if one.is_detail:
            summary = f"<details><summary>{escaped(one.title)}</summary>"
            noted = ["", summary, *noted, "", "</details>"]
        lines += noted
    notices = [f"- {escaped(one.message)} ({one.code})" for one in weightiest(part.notices)]
    lines += ["", *notices] if notices else []
    for inner in part.parts:
        lines += ["", f"{'#' * level} {escaped(inner.heading)}", *part_lines(inner, level + 1)]
    return lines


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
