"""The JavaScript, styles and licences that a page carries.

The script and style sheet of a page with a graph.
"""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

from enginescope.core.record import Record

_ASSETS = files("enginescope.render") / "assets"
_LIBRARIES = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")
_OWN = ("data.js", "tables.js", "charts.js", "page.js")
_SOURCE_MAP = re.compile(r"\n//# sourceMappingURL=\S+\s*$")


class Script(Record, frozen=True, kw_only=True):
    """JavaScript to be written into a page, and the hash that lets it run there."""

    text: str

    @property
    def csp_source(self) -> str:
        """The source expression for a content security policy: ``'sha256-…'``."""
        digest = hashlib.sha256(self.text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


def scripts(*more: str) -> tuple[Script, ...]:
    """Return the libraries, our own scripts and those of one page, in the order they must run."""
    libraries = (_read(f"vendor/{name}") for name in _LIBRARIES)
    # A source map would be looked for beside the page, where there is none.
    stripped = (_SOURCE_MAP.sub("\n", text) for text in libraries)
    return tuple(Script(text=text) for text in (*stripped, *map(_read, (*_OWN, *more))))


def style(*more: str) -> str:
    """Return the style sheet of every page, and those of one."""
    return "".join(map(_read, ("page.css", *more)))


def licences() -> str:
    """Return the licence texts of the libraries."""
    return _read("vendor/LICENSES.txt")


def _read(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8").replace("\r\n", "\n")


_GRAPH_ASSETS = files("enginescope.render") / "assets" / "graph"
#: In the order in which each uses those before it.
_PARTS = ("data", "scene", "colors", "paint", "panel", "controls", "pointer", "view", "start")


def graph_script() -> Script:
    """Return the graph's parts as one script, whose names stay its own."""
    parts = "\n".join(_read_graph_asset(f"{one}.js") for one in _PARTS)
    return Script(text=f'"use strict";\n(() => {{\n{parts}}})();\n')


def graph_style() -> str:
    """Return what the graph adds to the page's style sheet."""
    return _read_graph_asset("graph.css")


def _read_graph_asset(name: str) -> str:
    return (_GRAPH_ASSETS / name).read_text(encoding="utf-8").replace("\r\n", "\n")
