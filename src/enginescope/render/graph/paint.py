"""Which colour every node and edge of a drawing has, and the legend to it."""

from __future__ import annotations

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.render.graph.categories import (
    Category,
    categories,
    category_of,
    edge_category,
)
from enginescope.render.graph.heat import heat
from enginescope.render.graph.severity import severities
from enginescope.render.graph.sketch import Sketch

COLORINGS = ("type", "precision", "time", "lint")
_WORDS = {"time": "time of a layer", "lint": "the worst finding"}


class Paint(Record, frozen=True, kw_only=True):
    """Colours of one drawing.

    Attributes
    ----------
    categories : tuple of Category
        In the legend's order.
    nodes, edges : tuple of (int or None)
        Each one's place in `categories`.
    words : str
        What it is coloured by.
    """

    categories: tuple[Category, ...]
    nodes: tuple[int | None, ...]
    edges: tuple[int | None, ...]
    words: str


def paint(given: Sketch, coloring: str) -> Paint:
    """Return the colours of `given`.

    Parameters
    ----------
    given : Sketch
    coloring : {"type", "precision", "time", "lint"}

    Raises
    ------
    UsageError
        No such colouring, or what it shows is not known.
    """
    if coloring not in COLORINGS:
        raise UsageError(f"no such colouring: {coloring!r}", hint=", ".join(COLORINGS))
    of_nodes: tuple[str | None, ...]
    of_edges: tuple[str | None, ...] = (None,) * len(given.graph.edges)
    if coloring == "time":
        found, of_nodes = heat(given)
    elif coloring == "lint":
        found, of_nodes = severities(given)
    else:
        found = categories(given.graph, coloring, given.times)
        of_nodes = tuple(category_of(one, coloring) for one in given.graph.nodes)
        of_edges = tuple(edge_category(one, coloring) for one in given.graph.edges)
    number: dict[str | None, int] = {one.name: place for place, one in enumerate(found)}
    return Paint(
        categories=found,
        nodes=tuple(map(number.get, of_nodes)),
        edges=tuple(map(number.get, of_edges)),
        words=_WORDS.get(coloring, coloring),
    )
