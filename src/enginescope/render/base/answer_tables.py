"""An answer with its facts and tables: as JSON, as Markdown, and for pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.records.notice import weightiest
from enginescope.render.base.data_table import escaped
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import stated as stated


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
    facts = fact_lines((*part.facts, *part.more_facts))
    lines = ["", *facts] if facts else []
    for at, one in enumerate(part.tables):
        noted = ["", f"**{escaped(one.title)}**"] if at and not one.is_detail else []
        noted += table_lines(one)
        noted += ["", escaped(one.note)] if one.note else []
        if one.is_detail:
            summary = f"<details><summary>{escaped(one.title)}</summary>"
            noted = ["", summary, *noted, "", "</details>"]
        lines += noted
    lines += ["", *notice_lines(part.notices)] if part.notices else []
    for inner in part.parts:
        lines += ["", f"{'#' * level} {escaped(inner.heading)}", *part_lines(inner, level + 1)]
    return lines


def fact_lines(facts: Iterable[tuple[str, str]]) -> list[str]:
    """Return names and texts as a list."""
    return [f"- {escaped(name)}: {escaped(text)}" for name, text in facts]


def notice_lines(notices: Iterable[Notice]) -> list[str]:
    """Return notices as a list, the weightiest first."""
    return [f"- {escaped(one.message)} ({one.code})" for one in weightiest(notices)]


def table_lines(part: TextTable) -> list[str]:
    """Return a table after a blank line; whole figures do not break."""
    part = part.known()
    marks = ["---:" if name in part.numbers else "---" for name in part.headers]
    fixed = {at for at, name in enumerate(part.headers) if name in {*part.whole} & {*part.numbers}}
    rows = (
        [
            escaped(cell.replace("\n", "; ")).replace(" ", "\u00a0" if at in fixed else " ")
            for at, cell in enumerate(row)
        ]
        for row in part.rows
    )
    return ["", *(f"| {' | '.join(row)} |" for row in (map(escaped, part.headers), marks, *rows))]
