"""Text that is safe inside DOT."""

from __future__ import annotations

import html
from collections.abc import Iterable

from enginescope.render.graph.xml_text import printable

# Graphviz reads at most 16,384 bytes of a string at once; pieces may be joined by +. A character
# becomes at most five bytes here.
_PIECE = 2_000


def dot_string(text: str) -> str:
    """Return `text` as a quoted string that Graphviz shows as it is.

    Control characters become pictures, as in SVG; ``&`` is escaped because Graphviz takes entities
    for characters, backslashes because it takes what follows for commands.
    """
    return _joined(printable(text), "\\\\")


def dot_tooltip(text: str) -> str:
    """Return `text` as `dot_string` does, for tooltips: Graphviz reads backslashes there twice."""
    return _joined(printable(text), "\\" * 4)


def _joined(shown: str, backslash: str) -> str:
    pieces = [shown[start : start + _PIECE] for start in range(0, len(shown), _PIECE)] or [""]
    return " + ".join(f'"{_escaped(one, backslash)}"' for one in pieces)


def dot_html(text: str) -> str:
    """Return `text` for a label in Graphviz's HTML."""
    return html.escape(printable(text))


def attributes(pairs: Iterable[tuple[str, str]]) -> str:
    """Return an attribute list; values are quoted already."""
    return "[" + " ".join(f"{name}={value}" for name, value in pairs) + "]"


def _escaped(text: str, backslash: str) -> str:
    return (
        text.replace("&", "&amp;")
        .replace("\\", backslash)
        .replace('"', '\\"')
        .replace("\r", "")
        .replace("\n", "\\n")
    )
