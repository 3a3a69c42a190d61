"""Colors by kind of work and by precision: which category each node and edge is of.

The style sheet of a drawing, for light and dark surfaces.
What is written beside and about each edge of a drawing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from enginescope.analysis.graph.plan_graph import GraphEdge, GraphNode, PlanGraph
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.judge.units import format_significant
from enginescope.records.plan.plan import Layer
from enginescope.render.base.palette import (
    DARK,
    FONT,
    LIGHT,
    OTHER,
    Theme,
    family_color,
    precision_color,
    type_family,
)
from enginescope.render.graph.node_labels import Times, ordinal, shortened, tensor_text

COLORINGS = ("type", "precision")


class Category(Record, frozen=True, kw_only=True):
    """A color, what has it, and the words of the legend.

    Attributes:
        ink: Color of text on it, where boxes are filled with it; ``None``: boxes are tinted.
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
    """Return what is to be told apart, the longest time first, else the most layers."""
    if coloring not in COLORINGS:
        raise UsageError(f"no such coloring: {coloring!r}", hint=", ".join(COLORINGS))
    layers: Counter[str] = Counter()
    time_ms: defaultdict[str, float] = defaultdict(float)
    for node in graph.nodes:
        for layer in node.held_layers:
            name = _of_layer(layer, coloring)
            layers[name] += 1
            time_ms[name] += times.time_ms.get(layer.index, 0.0) if times else 0.0
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


THEMES = ("auto", "light", "dark")


def style_sheet(found: Iterable[Category], theme: str) -> str:
    """Return CSS; with ``"auto"`` the viewer's preference decides, light where it has none.

    Plain rules without variables: converters to PNG know no more.
    """
    if theme not in THEMES:
        raise UsageError(f"no such theme: {theme!r}", hint=", ".join(THEMES))
    colored = list(found)
    first = DARK if theme == "dark" else LIGHT
    text = _SHAPES.format(font=FONT) + _surface(first) + _colored(colored)
    if theme == "auto":
        text += f"@media (prefers-color-scheme: dark) {{\n{_surface(DARK)}{_colored(colored)}}}\n"
    return text


_SHAPES = """\
text {{ font-family: {font}; font-size: 11px; text-anchor: middle; }}
.h {{ font-size: 12px; font-weight: 600; }}
.l {{ text-anchor: start; }}
.x {{ font-size: 10px; paint-order: stroke; stroke-width: 3; stroke-linejoin: round; }}
.t {{ font-size: 16px; font-weight: 600; text-anchor: start; }}
.n rect {{ stroke-width: 1.2; fill-opacity: .2; }}
.n .bar {{ stroke: none; fill-opacity: .85; }}
.r .box {{ stroke-dasharray: 4 2; }}
.c .box {{ stroke-width: 4; }}
.io .box {{ fill-opacity: 1; stroke-width: 2; }}
.e path {{ fill: none; stroke-width: 1.4; }}
.e:hover path {{ stroke-width: 4; }}
.reuse path {{ stroke-dasharray: 6 4; }}
.order path {{ stroke-dasharray: 2 4; }}
.back path {{ stroke-dasharray: 9 3; stroke-width: 2.2; }}
"""


def _surface(theme: Theme) -> str:
    return (
        f".paper {{ fill: {theme.background}; }}\n"
        f"text {{ fill: {theme.ink}; }}\n"
        f".s {{ fill: {theme.soft}; }}\n"
        f".x {{ fill: {theme.soft}; stroke: {theme.background}; }}\n"
        f".n rect {{ fill: {theme.soft}; stroke: {theme.soft}; }}\n"
        f".io .box {{ fill: {theme.background}; }}\n"
        f".e path {{ stroke: {theme.soft}; }}\n"
        f".n.c .box {{ stroke: {theme.ink}; }}\n"
        f"marker path {{ fill: {theme.soft}; stroke: none; }}\n"
    )


def _colored(found: list[Category]) -> str:
    return "".join(
        f".n.k{number} rect {{ fill: {one.color}; stroke: {one.color}; }}\n"
        f".e.k{number} path {{ stroke: {one.color}; }}\n"
        + (_filled(number, one.ink) if one.ink else "")
        for number, one in enumerate(found)
    )


def _filled(number: int, ink: str) -> str:
    return (
        f".n.k{number} .box {{ fill-opacity: 1; }}\n"
        f".n.k{number} .bar {{ fill: {ink}; fill-opacity: .6; }}\n"
        f".n.k{number} text {{ fill: {ink}; }}\n"
    )


#: Characters beside an edge, and of each end's name in its title; whole names are on the nodes.
LABEL_CHARACTERS = 36
_END_CHARACTERS = 120
_NAME_CHARACTERS = 2_000

#: Source, kind and tensor: edges that have all three alike carry one tensor to several readers.
Flow = tuple[int, str, str]


def flow_of(edge: GraphEdge) -> Flow:
    """Return what makes edges of one tensor from one node alike."""
    return edge.source, edge.kind, edge.tensor.name if edge.tensor else ""


def edge_labels(graph: PlanGraph) -> Iterator[str | None]:
    """Yield shape, precision and format for each edge; ``None`` where a node at its end says so."""
    for edge in graph.edges:
        ends = graph.nodes[edge.source], graph.nodes[edge.target]
        if edge.tensor is None or edge.kind != "data" or any(end.tensor for end in ends):
            yield None
        else:
            yield shortened(tensor_text(edge.tensor), LABEL_CHARACTERS) or None


def edge_titles(graph: PlanGraph) -> Iterator[str]:
    """Yield for each edge what flows along it, from where to where, and who else reads it."""
    readers = Counter(map(flow_of, graph.edges))
    for edge in graph.edges:
        yield "\n".join(filter(None, _title(edge, graph.nodes, readers[flow_of(edge)])))


def _title(edge: GraphEdge, nodes: tuple[GraphNode, ...], readers: int) -> Iterator[str]:
    ends = nodes[edge.source], nodes[edge.target]
    between = " → ".join(shortened(end.name, _END_CHARACTERS) for end in ends)
    if edge.tensor is None:
        yield f"{between}\norder only: no tensor joins them"
        return
    yield shortened(edge.tensor.name, _NAME_CHARACTERS)
    yield tensor_text(edge.tensor)
    yield between
    if readers > 1:
        yield f"read by {readers:,} from here"
    if edge.kind == "reuse":
        yield "the same memory, written again"
    else:
        use = next((end.generation for end in ends if end.generation is not None), None)
        yield f"{ordinal(use + 1)} use of this memory" if use is not None else ""
    if edge.is_carried:
        yield "read before it is written: from an earlier iteration"
