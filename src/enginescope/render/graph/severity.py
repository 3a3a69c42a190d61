"""Colours by the worst that lint says of each layer."""

from __future__ import annotations

from collections import Counter, defaultdict

from enginescope.render.graph.categories import Category, legend_text
from enginescope.render.graph.sketch import Sketch
from enginescope.render.palette import ORANGE, OTHER, SKY, VERMILLION

#: Worst severity → its colour, the worst first.
SEVERITIES = {"error": VERMILLION, "warning": ORANGE, "info": SKY, "nothing found": OTHER}


def severities(given: Sketch) -> tuple[tuple[Category, ...], tuple[str | None, ...]]:
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
