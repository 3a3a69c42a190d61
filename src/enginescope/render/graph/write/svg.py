"""A drawing as one SVG file: no script, no outside reference."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from enginescope.analysis.graph.layout.layered import Boxes, LaidOut, lay_out
from enginescope.analysis.graph.plan_graph import PlanGraph
from enginescope.analysis.graph.plan_graph_part import GraphPart
from enginescope.core.process_control import gc_paused
from enginescope.core.record import Record
from enginescope.judge.units import counted, format_ms
from enginescope.records.plan.plan import Attribution
from enginescope.render.base.data_table import xml_text
from enginescope.render.base.palette import DARK, FONT, LIGHT, Theme
from enginescope.render.base.short_names import shorten
from enginescope.render.graph.node_labels import (
    Flow,
    NodeLabel,
    edge_labels,
    edge_titles,
    flow_of,
    is_reformat,
    text_width,
)
from enginescope.render.graph.paint import Category, GraphScene, Paint, paint, sketch

#: Estimated pixels per character beside an edge.
LABEL_CHARACTER = 6.8
#: Pixels that a line of words needs, from top to bottom.
LABEL_HEIGHT = 12.0


class Drawing(Record, frozen=True, kw_only=True, eq=False):
    """A graph with its words, and where they lie.

    Attributes:
        laid_out: Nodes and edges in the graph's order.
        labels: Words beside edges and their centers in pixels, one for each tensor that found room.
    """

    scene: GraphScene
    laid_out: LaidOut
    labels: tuple[tuple[str, float, float], ...]


def draw(graph: PlanGraph, attribution: Attribution | None = None) -> Drawing:
    """Return the drawing of `graph`, with times on its layers where they are known."""
    return drawn(sketch(graph, attribution))


def drawn(scene: GraphScene) -> Drawing:
    """Return `scene` with its places."""
    laid_out = lay_out(boxes_of(scene))
    with gc_paused():
        labels = tuple(_edge_labels(scene, laid_out))
    return Drawing(scene=scene, laid_out=laid_out, labels=labels)


def boxes_of(scene: GraphScene) -> Boxes:
    """Return the sizes of the nodes and the edges, those of one tensor in one group."""
    edges, groups = scene.graph.edges, dict[Flow, int]()
    ends = [(edge.source, edge.target) for edge in edges]
    flows = [groups.setdefault(flow_of(edge), len(groups)) for edge in edges]
    return Boxes(
        widths=np.array([face.width for face in scene.faces], dtype=np.float64),
        heights=np.array([face.height for face in scene.faces], dtype=np.float64),
        edges=np.array(ends, dtype=np.int64).reshape(len(edges), 2),
        groups=np.array(flows, dtype=np.int64),
    )


def _edge_labels(scene: GraphScene, laid_out: LaidOut) -> Iterator[tuple[str, float, float]]:
    """One label a tensor: beside the edge that has the most of its line to itself."""
    edges = scene.graph.edges
    texts = {at: text for at, text in enumerate(edge_labels(scene.graph)) if text is not None}
    begins = laid_out.points[laid_out.starts[:-1], 1].tolist() if texts else []
    shown: dict[Flow, int] = {}
    for at in texts:
        before = shown.setdefault(flow_of(edges[at]), at)
        if begins[at] < begins[before]:
            shown[flow_of(edges[at])] = at
    widths = {at: text_width(texts[at], LABEL_CHARACTER) for at in sorted(shown.values())}
    for at, x, y in place_labels(laid_out, widths, LABEL_HEIGHT):
        yield texts[at], x, y


# Of the grid that says what is near what; between a line and the words beside it.
_CELL_WIDTH, _CELL_HEIGHT = 256.0, 96.0
_BESIDE = 5.0

#: Left, top, right, bottom.
Rectangle = tuple[float, float, float, float]


def place_labels(
    laid_out: LaidOut, widths: Mapping[int, float], height: float
) -> Iterator[tuple[int, float, float]]:
    """Yield edge and center for each label that fits beside its edge.

    Tried are both sides where the edge begins, then where it ends. No label lies on a node or on
    another label; one that fits nowhere is left out. Linear in what there is, but for cells that
    hold much.

    Args:
        widths: Edge to the width of its label, in pixels.
        height: Of every label.
    """
    taken = _Grid()
    rows = (one.tolist() for one in (laid_out.x, laid_out.y, laid_out.widths, laid_out.heights))
    for x, y, wide, high in zip(*rows, strict=True):
        taken.add((x - wide / 2, y - high / 2, x + wide / 2, y + high / 2))
    points, starts = laid_out.points.tolist(), laid_out.starts.tolist()
    for edge, width in widths.items():
        places = _places(points[starts[edge] : starts[edge + 1]], width, height)
        place = next((one for one in places if not taken.meets(one)), None)
        if place is not None:
            taken.add(place)
            yield edge, (place[0] + place[2]) / 2, (place[1] + place[3]) / 2


class _Grid:
    """Rectangles, found by where they are."""

    def __init__(self) -> None:
        self._cells: defaultdict[tuple[int, int], list[Rectangle]] = defaultdict(list)

    def add(self, one: Rectangle) -> None:
        for cell in _cells(one):
            self._cells[cell].append(one)

    def meets(self, one: Rectangle) -> bool:
        left, top, right, bottom = one
        for cell in _cells(one):
            for a, b, c, d in self._cells.get(cell, ()):
                if a < right and left < c and b < bottom and top < d:
                    return True
        return False


def _cells(one: Rectangle) -> Sequence[tuple[int, int]]:
    columns = range(int(one[0] // _CELL_WIDTH), int(one[2] // _CELL_WIDTH) + 1)
    rows = range(int(one[1] // _CELL_HEIGHT), int(one[3] // _CELL_HEIGHT) + 1)
    return [(column, row) for row in rows for column in columns]


def _places(route: list[list[float]], width: float, height: float) -> Iterator[Rectangle]:
    (x, y), (a, b) = route[0], route[-1]
    down = 1 if route[1][1] >= y else -1
    begin = y + down * (2 + height / 2)
    end = b - down * (10 + height / 2)
    for here, middle in ((x, begin), (x, begin + down * height), (a, end)):
        for left in (here + _BESIDE, here - _BESIDE - width):
            yield left, middle - height / 2, left + width, middle + height / 2


def style_sheet(found: Iterable[Category], *, is_light: bool) -> str:
    """Return CSS; unless `is_light`, the viewer's preference decides, light where it has none.

    Plain rules without variables: converters to PNG know no more.
    """
    dark = "" if is_light else f"@media (prefers-color-scheme: dark) {{\n{_surface(DARK)}}}\n"
    colored = []
    for number, one in enumerate(found):
        node = f".n.k{number}"
        colored += [f"{node} rect {{ fill: {one.color}; stroke: {one.color}; }}"]
        colored += [f".e.k{number} path {{ stroke: {one.color}; }}"]
        if one.ink:
            colored += [f"{node} .box {{ fill-opacity: 1; }}"]
            colored += [f"{node} .bar {{ fill: {one.ink}; fill-opacity: .6; }}"]
            colored += [f"{node} text {{ fill: {one.ink}; }}"]
    rules = "".join(f"{rule}\n" for rule in colored)
    return _SHAPES.format(font=FONT) + _surface(LIGHT) + dark + rules


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


_SWATCH = '<rect class="box" x="0" y="-7" width="16" height="14" rx="3"/>'
_LINE = '<path d="M0 0H16"/>'


def legend(drawing: Drawing, colors: Paint) -> Iterator[tuple[str, str, str]]:
    """Yield classes, shape and words of each thing there is to be explained."""
    graph = drawing.scene.graph
    for number, one in enumerate(colors.categories):
        yield f"n k{number}", _SWATCH, one.text
    if any(map(is_reformat, graph.nodes)):
        yield "n r", _SWATCH.replace('rx="3"', 'rx="7"'), "reformat: changes type or layout only"
    if any(node.generation is not None for node in graph.nodes):
        yield "n io", _SWATCH, "region: memory that is written more than once"
    if max(Counter(map(flow_of, graph.edges)).values(), default=0) > 1:
        fork = '<path d="M0 0H6C10 0 10 -5 16 -5M6 0C10 0 10 5 16 5"/>'
        yield "e", fork, "fork: one tensor, several readers"
    kinds = {edge.kind for edge in graph.edges}
    if "reuse" in kinds:
        yield "e reuse", _LINE, "same memory, written again"
    if "order" in kinds:
        yield "e order", _LINE, "order only"
    if bool(drawing.laid_out.is_back.any()) or any(edge.is_carried for edge in graph.edges):
        yield "e back", _LINE, "back, for the next iteration"


_MARGIN, _LEGEND_ROW, _BAR = 24.0, 22.0, 4.0


def svg(
    drawing: Drawing,
    *,
    coloring: str = "type",
    is_light: bool = False,
    is_titled: bool = True,
    part: GraphPart | None = None,
) -> str:
    """Return the picture.

    Args:
        is_light: On white, else as the viewer prefers.
        is_titled: With tooltips, which are most of its bytes.
        part: Where `drawing` shows a part: its centers are framed, and what is left out is said.
    """
    colors = paint(drawing.scene, coloring)
    ends = [(x, text_width(text, LABEL_CHARACTER) / 2) for text, x, _ in drawing.labels]
    left = min([0.0, *(x - half for x, half in ends)])
    right = max([drawing.laid_out.width, *(x + half for x, half in ends)])
    width = max(560.0, right - left + 2 * _MARGIN)
    head, top = _head(drawing, colors, part, width)
    shift = (width - (right - left)) / 2 - left
    height = top + drawing.laid_out.height + _MARGIN
    labels = (
        f'<text class="x" x="{x:.1f}" y="{y + 3.5:.1f}">{xml_text(text)}</text>'
        for text, x, y in drawing.labels
    )
    body = "\n".join((*_edges(drawing, colors), *_nodes(drawing, colors, part), *labels))
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    place = 'markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto"'
    arrow = f'{place}><path d="M0 0 9 4 0 8z"/>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{xml_text(drawing.scene.graph.name)}</title>",
            f"<style>\n{style_sheet(colors.categories, is_light=is_light)}</style>",
            f'<defs><marker id="end" markerUnits="userSpaceOnUse" {arrow}</marker></defs>',
            '<rect class="paper" width="100%" height="100%"/>',
            *head,
            f'<g transform="translate({shift:.1f} {top:.1f})">',
            body if is_titled else re.sub(r"<title>[^<]*</title>", "", body),
            "</g>",
            "</svg>",
            "",
        ]
    )


def _head(
    drawing: Drawing, colors: Paint, part: GraphPart | None, width: float
) -> tuple[list[str], float]:
    """Title, what is shown, legend; and where the drawing begins."""
    # estimated pixels per character: 9.6 of the title, 6.4 of the legend
    name = shorten(drawing.scene.graph.name, int((width - 2 * _MARGIN) / 9.6))
    subtitle = xml_text(_subtitle(drawing, colors, part))
    lines = [
        f'<text class="t" x="{_MARGIN:g}" y="36">{xml_text(name)}</text>',
        f'<text class="l s" x="{_MARGIN:g}" y="56">{subtitle}</text>',
    ]
    x, y = _MARGIN, 80.0
    for classes, path, words in legend(drawing, colors):
        length = 22 + len(words) * 6.4 + 18
        if x + length > width - _MARGIN and x > _MARGIN:
            x, y = _MARGIN, y + _LEGEND_ROW
        lines.append(
            f'<g transform="translate({x:.0f} {y:.0f})"><g class="{classes}">{path}</g>'
            f'<text class="l" x="22" y="4">{xml_text(words)}</text></g>'
        )
        x += length
    return lines, y + 2 * _LEGEND_ROW


def _subtitle(drawing: Drawing, colors: Paint, part: GraphPart | None) -> str:
    words = [counted(sum(len(node.held_layers) for node in drawing.scene.graph.nodes), "layer")]
    if part is not None:
        nodes = sum(not node.layers for node in drawing.scene.graph.nodes)
        words = [f"{nodes:,} of {part.whole_nodes:,} nodes"]
        if part.cut_edges:
            words.append(f"{part.cut_edges:,} edges lead out")
    times = drawing.scene.times
    time = times and f"{format_ms(times.sum_ms)} over all layers"
    words.append(time or "no profile: layers have no times")
    return " · ".join([*words, f"colored by {colors.words}"])


def _edges(drawing: Drawing, colors: Paint) -> Iterator[str]:
    graph, laid_out = drawing.scene.graph, drawing.laid_out
    points, starts = laid_out.points.round(1).tolist(), laid_out.starts.tolist()
    back = laid_out.is_back.tolist()
    for index, (edge, title) in enumerate(zip(graph.edges, edge_titles(graph), strict=True)):
        color, is_back = colors.edges[index], back[index] or edge.is_carried
        kind = edge.kind if edge.kind != "data" else ""
        classes = ("e", kind, "back" if is_back else "", "" if color is None else f"k{color}")
        path = _path(points[starts[index] : starts[index + 1]])
        yield (
            f'<g class="{" ".join(filter(None, classes))}"><title>{xml_text(title)}'
            f'</title><path d="{path}" marker-end="url(#end)"/></g>'
        )


def _path(points: list[list[float]]) -> str:
    """Upright lines through nodes' layers, curves that begin and end upright between them."""
    (x, y), *rest = points
    parts = [f"M{x:g} {y:g}"]
    for a, b in rest:
        if a == x:
            parts.append(f"V{b:g}")
        elif b == y:
            parts.append(f"H{a:g}")
        else:
            middle = (y + b) / 2
            parts.append(f"C{x:g} {middle:.1f} {a:g} {middle:.1f} {a:g} {b:g}")
        x, y = a, b
    return "".join(parts)


def _nodes(drawing: Drawing, colors: Paint, part: GraphPart | None) -> Iterator[str]:
    xs, ys = drawing.laid_out.x.tolist(), drawing.laid_out.y.tolist()
    centres = set(part.centres) if part else set()
    times = [
        drawing.scene.times.sum_of_ms(node.held_layers) if drawing.scene.times else None
        for node in drawing.scene.graph.nodes
    ]
    most = max((time for time in times if time is not None), default=0.0)
    for node, face in zip(drawing.scene.graph.nodes, drawing.scene.faces, strict=True):
        classes = ["n"] if node.layer or node.layers else ["n", "io"]
        color = colors.nodes[node.id]
        if color is not None:
            classes.append(f"k{color}")
        if is_reformat(node):
            classes.append("r")
        if node.id in centres:
            classes.append("c")
        time_ms = times[node.id]
        part_of_most = time_ms / most if time_ms is not None and most else 0.0
        yield (
            f'<g class="{" ".join(classes)}" transform="translate({xs[node.id]:.1f} '
            f'{ys[node.id]:.1f})"><title>{xml_text(face.title)}</title>'
            f"{_stack(face) if node.layers else ''}"
            f"{_box(face, is_round=is_reformat(node), bar=part_of_most)}</g>"
        )


def _stack(face: NodeLabel) -> str:
    """Edges of boxes under a group's, which show that it is several."""
    return "".join(
        f'<rect x="{step * 5 - face.width / 2:.1f}" y="{face.height / 2 + step * 3 - 3:.1f}" '
        f'width="{face.width - step * 10:.1f}" height="3"/>'
        for step in (1, 2)
    )


def _box(face: NodeLabel, *, is_round: bool, bar: float) -> str:
    """Draw around 0, 0; the bar at the bottom is as long as the layer's part of the slowest."""
    width, height = face.width, face.height
    radius = height / 2 if is_round else 5
    inner = width - (height if is_round else 12.0)
    place = f'x="{-width / 2:.1f}" y="{-height / 2:.1f}" width="{width:.1f}" height="{height:.1f}"'
    parts = [f'<rect class="box" {place} rx="{radius:g}"/>']
    if bar > 0:
        parts.append(
            f'<rect class="bar" x="{-inner / 2:.1f}" y="{height / 2 - _BAR - 2:.1f}" '
            f'width="{max(1.0, inner * bar):.1f}" height="{_BAR:g}"/>'
        )
    y = -height / 2 + 17
    parts.append(f'<text class="h" y="{y:g}">{xml_text(face.heading)}</text>')
    for line in face.lines:
        y += 15
        parts.append(f'<text y="{y:g}">{xml_text(line)}</text>')
    return "".join(parts)
