"""Text that is safe inside DOT."""

from __future__ import annotations

import html
from collections.abc import Iterable

from enginescope.render.graph.xml_text import printable

# Graphviz reads at most 16,384 bytes of a string at once; pieces may be joined by +. A character
# becomes at most five bytes here, or four of UTF-8.
_PIECE = 2_000


def dot_string(text: str) -> str:
    """Return `text` as a quoted string that Graphviz shows as it is.

    Control characters become pictures, as in SVG; ``&`` is escaped because Graphviz takes entities
    for characters, backslashes because it takes what follows for commands.
    """
    shown = printable(text)
    pieces = [shown[start : start + _PIECE] for start in range(0, len(shown), _PIECE)] or [""]
    return " + ".join(f'"{_escaped(one)}"' for one in pieces)


def dot_html(text: str) -> str:
    """Return `text` for a label in Graphviz's HTML."""
    return html.escape(printable(text))


def attributes(pairs: Iterable[tuple[str, str]]) -> str:
    """Return an attribute list; values are quoted already."""
    return "[" + " ".join(f"{name}={value}" for name, value in pairs) + "]"


def _escaped(text: str) -> str:
    return (
        text.replace("&", "&amp;")
        .replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\r", "")
        .replace("\n", "\\n")
    )
