"""Hints on a machine, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from enginescope.records.run.hint import Hint


def hint_lines(hints: Sequence[Hint]) -> Group:
    """Return each hint with its code, and what to type under it."""
    lines = []
    for hint in hints:
        lines.append(Padding(Text(f"! {hint.message} ({hint.code})"), 0))
        if hint.command:
            lines.append(Padding(Text(hint.command, style="dim"), (0, 0, 0, 4)))
    return Group(*lines)
