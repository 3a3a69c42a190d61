"""An answer with its facts, tables and notices, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from enginescope.records.notice import Notice
from enginescope.render.base.data_table import escaped, markdown_row
from enginescope.render.base.figures import TextTable


def answer_markdown(
    answer: str,
    facts: Iterable[tuple[str, str]],
    tables: Iterable[TextTable],
    notices: Sequence[Notice],
) -> bytes:
    """Return the answer, what it is about, the tables and the notices."""
    lines = [f"### enginescope: {escaped(answer)}", ""]
    lines += [f"- {name}: {escaped(text)}" for name, text in facts]
    for part in tables:
        marks = ["---:" if name in part.numbers else "---" for name in part.headers]
        lines += ["", markdown_row(part.headers), markdown_row(marks)]
        lines += [
            markdown_row([escaped(cell.replace("\n", "; ")) for cell in row]) for row in part.rows
        ]
    if notices:
        lines += ["", *(f"- {escaped(one.message)} ({one.code})" for one in notices)]
    return ("\n".join(lines) + "\n").encode()
