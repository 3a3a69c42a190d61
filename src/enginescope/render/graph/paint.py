"""Which colour every node and edge of a drawing has, and the legend to it."""

from __future__ import annotations

from collections import Counter, defaultdict

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.render.base.palette import ORANGE, OTHER, SKY, VERMILLION
from enginescope.render.graph.categories import (
    Category,
    categories,
    category_of,
    edge_category,
    legend_text,
)
from enginescope.render.graph.graph_scene import GraphScene
from enginescope.render.graph.time_colors import heat

#: Worst severity → its colour, the worst first.
SEVERITIES = {"error": VERMILLION, "warning": ORANGE, "info": SKY, "nothing found": OTHER}


def severities(given: GraphScene) -> tuple[tuple[Category, ...], tuple[str | None, ...]]:
    """Return the severities that occur, the worst first, and each node's."""
    found = given.wording.findings
    layers: Counter[str] = Counter()
    time_ms: defaultdict[str, float] = defaultdict(float)
    of_nodes: list[str | None] = []
    for node in given.graph.nodes:
        names = set()
        for layer in node.held_layers:
            worst = found.get(layer.index)
            name = worst[0].severity.value if worst else "nothing found"
            names.add(name)
            layers[name] += 1
            if given.times:
                time_ms[name] += given.times.mean_ms.get(layer.index, 0.0)
        of_nodes.append(next((one for one in SEVERITIES if one in names), None))
    return tuple(
        Category(
            name=name, color=color, text=legend_text(name, layers[name], time_ms[name], given.times)
        )
        for name, color in SEVERITIES.items()
        if layers[name]
    ), tuple(of_nodes)


COLORINGS = ("type", "precision", "time", "lint")
_WORDS = {"time": "time of a layer", "lint": "the worst finding"}


class Paint(Record, frozen=True, kw_only=True):
    """Colours of one drawing.

    Attributes:
        categories: In the legend's order.
        nodes, edges: Each one's place in `categories`.
        words: What it is coloured by.
    """

    categories: tuple[Category, ...]
    nodes: tuple[int | None, ...]
    edges: tuple[int | None, ...]
    words: str


def paint(given: GraphScene, coloring: str) -> Paint:
    """Return the colours of `given`.

    Raises:
        UsageError: No such colouring, or what it shows is not known.
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
        of_nodes = tuple(category_of(node, coloring) for node in given.graph.nodes)
        of_edges = tuple(edge_category(edge, coloring) for edge in given.graph.edges)
    number: dict[str | None, int] = {one.name: place for place, one in enumerate(found)}
    return Paint(
        categories=found,
        nodes=tuple(map(number.get, of_nodes)),
        edges=tuple(map(number.get, of_edges)),
        words=_WORDS.get(coloring, coloring),
    )
