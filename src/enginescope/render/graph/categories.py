"""Colours by kind of work and by precision: which category each node and edge is of."""

from __future__ import annotations

from collections import Counter, defaultdict

from enginescope.analysis.graph.plan_graph import GraphEdge, GraphNode, PlanGraph
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.units import format_significant
from enginescope.records.plan.plan import Layer
from enginescope.render.base.palette import OTHER, family_color, precision_color, type_family
from enginescope.render.graph.node_labels import Times

COLORINGS = ("type", "precision")


class Category(Record, frozen=True, kw_only=True):
    """A colour, what has it, and the words of the legend.

    Attributes:
        ink: Colour of text on it, where boxes are filled with it; ``None``: boxes are tinted.
    """

    name: str
    color: str
    text: str
    ink: str | None = None


def category_of(node: GraphNode, coloring: str) -> str | None:
    """Return a layer's kind of work or its precision; ``None`` for tensors and constants.

    Of a group: what most of its layers have.
    """
    names = Counter(_of_layer(layer, coloring) for layer in node.held_layers)
    return names.most_common(1)[0][0] if names else None


def _of_layer(layer: Layer, coloring: str) -> str:
    if coloring == "type":
        return type_family(layer.type)
    precision = layer.precision
    return precision.value if precision else "unknown"


def edge_category(edge: GraphEdge, coloring: str) -> str | None:
    """Return the precision of what flows, if precisions are shown."""
    if coloring != "precision" or edge.tensor is None or edge.tensor.dtype is None:
        return None
    return edge.tensor.dtype.value


def categories(graph: PlanGraph, coloring: str, times: Times | None) -> tuple[Category, ...]:
    """Return what is to be told apart, the longest time first, else the most layers.

    Raises:
        UsageError: `coloring` is neither ``"type"`` nor ``"precision"``.
    """
    if coloring not in COLORINGS:
        raise UsageError(f"no such colouring: {coloring!r}", hint=", ".join(COLORINGS))
    layers: Counter[str] = Counter()
    time_ms: defaultdict[str, float] = defaultdict(float)
    for node in graph.nodes:
        for layer in node.held_layers:
            name = _of_layer(layer, coloring)
            layers[name] += 1
            time_ms[name] += times.mean_ms.get(layer.index, 0.0) if times else 0.0
    for edge in graph.edges:
        flowing = edge_category(edge, coloring)
        if flowing is not None:
            layers[flowing] += 0
    ordered = sorted(layers, key=lambda name: (-time_ms[name], -layers[name], name))
    return tuple(
        Category(
            name=name,
            color=_color(name, coloring),
            text=legend_text(name, layers[name], time_ms[name], times),
        )
        for name in ordered
    )


def _color(name: str, coloring: str) -> str:
    if coloring == "type":
        return family_color(name)
    return OTHER if name == "unknown" else precision_color(name)


def legend_text(name: str, layers: int, time_ms: float, times: Times | None) -> str:
    """Return what the legend says of a category: how many layers, and their part of the time."""
    if not layers:
        return f"{name} (tensors)"
    count = f"{name} {layers:,}"
    if times is None or not times.sum_ms:
        return count
    return f"{count} · {format_significant(100 * time_ms / times.sum_ms, 3)} %"
