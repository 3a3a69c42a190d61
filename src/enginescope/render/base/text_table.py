"""Tables on the terminal, without what the screens of runs need."""

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
        box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", show_edge=False
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


def screen_width() -> int:
    """Return the columns of the terminal, also where the output goes to a pipe; 80 without one."""
    return Console().width


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
