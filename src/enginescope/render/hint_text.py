"""Hints on a machine, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from enginescope.model.hint import Hint


def hint_lines(hints: Sequence[Hint]) -> Group:
    """Return each hint with its code, and what to type under it."""
    lines = []
    for one in hints:
        lines.append(Padding(Text(f"! {one.message} ({one.code})"), 0))
        if one.command:
            lines.append(Padding(Text(one.command, style="dim"), (0, 0, 0, 4)))
    return Group(*lines)
