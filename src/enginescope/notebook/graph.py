"""A plan's graph as a notebook shows it, and as a file."""

from __future__ import annotations

import base64
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.errors import UsageError
from enginescope.core.jsonio import write_atomic

if TYPE_CHECKING:
    from enginescope.render.graph.write.picture import Picture


class GraphDisplay:
    """A picture of a plan's layers and what flows between them.

    In a notebook it is an image that needs no script and no network.

    Args:
        name: Of the plan.

    Raises:
        UsageError: What is asked for cannot be drawn.
    """

    def __init__(self, name: str, picture: Picture) -> None:
        self._name = name
        self._picture = picture
        self._shown = picture.svg(theme="light")

    def __repr__(self) -> str:
        """Return one line that names the plan."""
        return f"<GraphDisplay {self._name}>"

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the picture to `path`: ``.svg``, ``.png``, or ``.dot``.

        Raises:
            UsageError: Another ending.
            MissingDependencyError: A PNG needs vl-convert; the message says how to get it.
        """
        target = Path(path)
        kind = target.suffix.lower()
        if kind == ".svg":
            data = self._picture.svg().encode()
        elif kind == ".png":
            data = self._picture.png()
        elif kind == ".dot":
            data = self._picture.dot().encode()
        else:
            raise UsageError(f"cannot save a graph as {target.name}", hint=".svg, .png or .dot")
        write_atomic(target, data)
        return target

    def _repr_html_(self) -> str:
        from enginescope.render.graph.write.xml_text import xml_text

        # As an image, so that ids and styles of several pictures in a page cannot meet.
        data = base64.b64encode(self._shown.encode()).decode()
        words = xml_text(f"Layers of {self._name} and what flows between them")
        style = "max-width:100%;max-height:60em"
        return f"<img alt='{words}' style='{style}' src='data:image/svg+xml;base64,{data}'>"
