"""Text and tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

_ESCAPED = str.maketrans({sign: f"\\{sign}" for sign in r"\`*_{}[]<>#|~$&"})


def escaped(text: str) -> str:
    """Return `text` on one line, so that Markdown shows it unchanged."""
    return " ".join(text.translate(_ESCAPED).split())


def markdown_row(cells: Sequence[str]) -> str:
    """Return a row of a table; its cells are escaped already."""
    return f"| {' | '.join(cells)} |"
