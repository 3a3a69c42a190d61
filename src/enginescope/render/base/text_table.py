"""Tables on the terminal, without what the screens of runs need.

Names that fit: their middle left out, and still told apart.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import StringIO
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
) -> RenderableType:
    """Return a table without vertical lines.

    Args:
        rows: As many cells each as there are headers.
        right: Headers whose columns are set flush right: numbers.
        whole: Headers of other columns that are never broken, however narrow the table: what is
            copied.
    """
    made = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        header_style="bold",
        show_edge=False,
    )
    for header in headers:
        flush = header in right
        made.add_column(
            header,
            justify="right" if flush else "left",
            no_wrap=flush or header in whole,
            overflow="fold",
        )
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def as_text(renderable: RenderableType, *, width: int = 80, color: bool = False) -> str:
    """Return a renderable as text, lines without trailing blanks."""
    stream = StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )
    console.print(renderable)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def shown_text(renderable: RenderableType, stream: TextIO | None = None) -> str:
    """Return what a stream shows; color on a terminal that has it, and not with ``NO_COLOR``."""
    console = Console(file=stream, highlight=False, emoji=False, markup=False)
    has_color = console.is_terminal and not console.is_dumb_terminal
    color = has_color and not os.environ.get("NO_COLOR")
    return as_text(renderable, width=console.width, color=color)


#: Characters kept before the first that differs.
_CONTEXT = 10


def shorten(text: str, limit: int) -> str:
    """Return `text`, its middle left out when it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    return _cut(text, limit, limit // 2)


def shorten_apart(texts: Sequence[str], limit: int) -> list[str]:
    """Return texts as `shorten` does, such that those that differ still do.

    Of texts that would look alike another part is left out: the one nearest their middle that lets
    them differ, else all but the beginning and where they differ first. Where that is not enough
    they get a number.
    """
    whole = list(dict.fromkeys(texts))
    short = {one: shorten(one, limit) for one in whole}
    alike: dict[str, list[str]] = {}
    for one in whole:
        alike.setdefault(short[one], []).append(one)
    for group in alike.values():
        if len(group) > 1:
            short.update(zip(group, _apart(group, limit), strict=True))
    return [short[text] for text in texts]


def _apart(group: Sequence[str], limit: int) -> list[str]:
    for head in sorted(range(limit), key=lambda one: abs(one - limit // 2)):
        found = [_cut(one, limit, head) for one in group]
        if len(set(found)) == len(group):
            return found
    columns = enumerate(zip(*group, strict=False))
    differing = next((at for at, column in columns if len(set(column)) > 1), 0)
    begin = limit // 4
    start = max(begin, differing - _CONTEXT)
    found = [f"{one[:begin]}…{one[start:][: limit - begin - 2]}…" for one in group]
    if len(set(found)) == len(group):
        return found
    room = max(1, limit - len(f" #{len(group)}"))
    return [f"{shorten(one, room)} #{number}" for number, one in enumerate(group, 1)]


def _cut(text: str, limit: int, head: int) -> str:
    tail = limit - 1 - head
    return f"{text[:head]}…{text[len(text) - tail :]}"
