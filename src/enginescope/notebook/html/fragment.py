"""Parts of an HTML fragment. Every text is escaped here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from enginescope.judge.notice import Notice
from enginescope.records.notice import weightiest
from enginescope.render.base.data_table import xml_text
from enginescope.render.base.figures import TextTable

_CELL = "vertical-align:top;padding:0.1em 1em 0.1em 0"
_LEFT = f"text-align:left;{_CELL}"
_RIGHT = f"text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;{_CELL}"
_TABLE = "border-collapse:collapse;margin:0.6em 0"
_CAPTION = "text-align:left;font-weight:bold;padding:0.2em 0;white-space:nowrap"


def fragment(title: str, *parts: str) -> str:
    """Return a whole fragment: a title above its parts, of which empty ones are left out."""
    inside = "".join(part for part in parts if part)
    return f"<div class='enginescope'><p><strong>{xml_text(title)}</strong></p>{inside}</div>"


def paragraph(text: str | None) -> str:
    """Return a paragraph; nothing without a text."""
    return f"<p>{xml_text(text)}</p>" if text else ""


def fact_list(rows: Iterable[tuple[str, str]]) -> str:
    """Return labels and what is known under each; nothing without rows."""
    cells = "".join(
        f"<tr><th scope='row' style='{_LEFT}'>{xml_text(label)}</th>"
        f"<td style='{_LEFT}'>{xml_text(text)}</td></tr>"
        for label, text in rows
    )
    return f"<table style='{_TABLE}'><tbody>{cells}</tbody></table>" if cells else ""


def data_table(
    title: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Sequence[str] = (),
    note: str | None = None,
) -> str:
    """Return a table with its title; nothing without rows.

    Args:
        numbers: Headers of columns that are set flush right.
        note: A line below.
    """
    styles = [_RIGHT if header in numbers else _LEFT for header in headers]
    body = "".join(
        "<tr>"
        + "".join(
            f"<td style='{style}'>{xml_text(cell)}</td>"
            for cell, style in zip(row, styles, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    if not body:
        return ""
    head = "".join(
        f"<th scope='col' style='{style}'>{xml_text(header)}</th>"
        for header, style in zip(headers, styles, strict=True)
    )
    return (
        f"<table style='{_TABLE}'><caption style='{_CAPTION}'>{xml_text(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{paragraph(note)}"
    )


def text_table(part: TextTable | None) -> str:
    """Return a table with its title and note, and how many rows it leaves out."""
    if part is None:
        return ""
    left_out = f"and {part.left_out:,} more" if part.left_out else None
    note = "; ".join(text for text in (part.note, left_out) if text)
    return data_table(part.title, part.headers, part.rows, numbers=part.numbers, note=note)


def notice_list(notices: Sequence[Notice]) -> str:
    """Return notices, warnings first and with a mark; nothing without any."""
    items = "".join(
        f"<li>{'! ' if one.level == 'warning' else ''}{xml_text(one.message)} ({one.code})</li>"
        for one in weightiest(notices)
    )
    return f"<ul>{items}</ul>" if items else ""
