"""The script and style sheet of a page with a graph."""

from __future__ import annotations

from importlib.resources import files

from enginescope.render.html.vendored import Script

_ASSETS = files("enginescope.render") / "assets" / "graph"
#: In the order in which each uses those before it.
_PARTS = ("data", "scene", "colors", "paint", "panel", "controls", "pointer", "view", "start")


def graph_script() -> Script:
    """Return the graph's parts as one script, whose names stay its own."""
    parts = "\n".join(_read(f"{one}.js") for one in _PARTS)
    return Script(text=f'"use strict";\n(() => {{\n{parts}}})();\n')


def graph_style() -> str:
    """Return what the graph adds to the page's style sheet."""
    return _read("graph.css")


def _read(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8").replace("\r\n", "\n")
