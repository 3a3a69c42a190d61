"""A drawing as one SVG file: no script, no outside reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.analysis.plan_graph_part import GraphPart
from enginescope.core.record import Record
from enginescope.core.units import format_ms
from enginescope.render.graph.categories import (
    Category,
    categories,
    category_of,
    edge_category,
)
from enginescope.render.graph.drawing import Drawing
from enginescope.render.graph.faces import Face, edge_title, is_reformat
from enginescope.render.graph.style import style_sheet
from enginescope.render.graph.xml_text import xml_text

_MARGIN = 24.0
_LEAST_WIDTH = 560.0
_LEGEND_ROW = 22.0
_CHARACTER = 6.4
_BAR = 4.0
_ARROW = (
    '<defs><marker id="end" markerUnits="userSpaceOnUse" markerWidth="9" markerHeight="8" '
    'refX="8" refY="4" orient="auto"><path d="M0 0 9 4 0 8z"/></marker></defs>'
)


class SvgLook(Record, frozen=True, kw_only=True):
    """How a drawing is shown.

    Attributes
    ----------
    coloring : {"type", "precision"}
    theme : {"auto", "light", "dark"}
        ``"auto"``: as the viewer prefers.
    """

    coloring: str = "type"
    theme: str = "auto"


def svg(drawing: Drawing, look: SvgLook | None = None, part: GraphPart | None = None) -> str:
    """Return the picture.

    Parameters
    ----------
    drawing : Drawing
    look : SvgLook, optional
    part : GraphPart, optional
        Where `drawing` shows a part: its centres are framed, and what is left out is said.

    Raises
    ------
    UsageError
        No such colouring or theme.
    """
    look = look or SvgLook()
    found = categories(drawing.graph, look.coloring, drawing.times)
    number = {one.name: index for index, one in enumerate(found)}
    laid_out = drawing.laid_out
    width = max(_LEAST_WIDTH, laid_out.width + 2 * _MARGIN)
    head, top = _head(drawing, found, (look, part), width)
    left = (width - laid_out.width) / 2
    height = top + laid_out.height + _MARGIN
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{xml_text(drawing.graph.name)}</title>",
            f"<style>\n{style_sheet(found, look.theme)}</style>",
            _ARROW,
            '<rect class="paper" width="100%" height="100%"/>',
            *head,
            f'<g transform="translate({left:.1f} {top:.1f})">',
            *_edges(drawing, look.coloring, number),
            *_nodes(drawing, look.coloring, number, part),
            "</g>",
            "</svg>",
            "",
        ]
    )


def _head(
    drawing: Drawing,
    found: Sequence[Category],
    asked: tuple[SvgLook, GraphPart | None],
    width: float,
) -> tuple[list[str], float]:
    """Title, what is shown, legend; and where the drawing begins."""
    look, part = asked
    subtitle = xml_text(_subtitle(drawing, look, part))
    lines = [
        f'<text class="t" x="{_MARGIN:g}" y="36">{xml_text(drawing.graph.name)}</text>',
        f'<text class="l s" x="{_MARGIN:g}" y="56">{subtitle}</text>',
    ]
    x, y = _MARGIN, 80.0
    for classes, path, words in _legend(drawing, found):
        length = 22 + len(words) * _CHARACTER + 18
        if x + length > width - _MARGIN and x > _MARGIN:
            x, y = _MARGIN, y + _LEGEND_ROW
        lines.append(
            f'<g class="{classes}" transform="translate({x:.0f} {y:.0f})">{path}'
            f'<text class="l" x="22" y="4">{xml_text(words)}</text></g>'
        )
        x += length
    return lines, y + 2 * _LEGEND_ROW


def _subtitle(drawing: Drawing, look: SvgLook, part: GraphPart | None) -> str:
    layers = sum(node.kind == "layer" for node in drawing.graph.nodes)
    words = [f"{layers:,} layers"]
    if part is not None:
        words = [
            f"{len(drawing.graph.nodes):,} of {part.whole_nodes:,} nodes",
            f"{part.cut_edges:,} edges lead out",
        ]
    if drawing.times:
        words.append(f"{format_ms(drawing.times.sum_ms)} over all layers")
    else:
        words.append("no profile: layers have no times")
    return " · ".join([*words, f"coloured by {look.coloring}"])


def _legend(drawing: Drawing, found: Sequence[Category]) -> Iterator[tuple[str, str, str]]:
    """Classes, shape and words of what is there to be explained."""
    swatch = '<rect class="box" x="0" y="-7" width="16" height="14" rx="3"/>'
    line = '<path d="M0 0H16"/>'
    for number, one in enumerate(found):
        yield f"n k{number}", swatch, one.text
    graph = drawing.graph
    if any(map(is_reformat, graph.nodes)):
        yield "n r", swatch.replace('rx="3"', 'rx="7"'), "reformat: changes type or layout only"
    kinds = {edge.kind for edge in graph.edges}
    if "reuse" in kinds:
        yield "e reuse", line, "same memory, written anew"
    if "order" in kinds:
        yield "e order", line, "order only"
    if bool(drawing.laid_out.is_back.any()) or any(edge.is_carried for edge in graph.edges):
        yield "e back", line, "back, for the next iteration"


def _edges(drawing: Drawing, coloring: str, number: dict[str, int]) -> Iterator[str]:
    graph, laid_out = drawing.graph, drawing.laid_out
    points, starts = laid_out.points.round(1).tolist(), laid_out.starts.tolist()
    back = laid_out.is_back.tolist()
    for index, edge in enumerate(graph.edges):
        classes = ["e"]
        if edge.kind != "data":
            classes.append(edge.kind)
        if back[index] or edge.is_carried:
            classes.append("back")
        name = edge_category(edge, coloring)
        if name is not None:
            classes.append(f"k{number[name]}")
        path = _path(points[starts[index] : starts[index + 1]])
        yield (
            f'<g class="{" ".join(classes)}"><title>{xml_text(edge_title(edge, graph.nodes))}'
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


def _nodes(
    drawing: Drawing, coloring: str, number: dict[str, int], part: GraphPart | None
) -> Iterator[str]:
    xs, ys = drawing.laid_out.x.tolist(), drawing.laid_out.y.tolist()
    centres = set(part.centres) if part else set()
    shares = [
        drawing.times.share_pct(node.layer.index) if drawing.times and node.layer else None
        for node in drawing.graph.nodes
    ]
    most = max((share for share in shares if share is not None), default=0.0)
    for node, face in zip(drawing.graph.nodes, drawing.faces, strict=True):
        classes = ["n"] if node.layer else ["n", "io"]
        name = category_of(node, coloring)
        if name is not None:
            classes.append(f"k{number[name]}")
        if is_reformat(node):
            classes.append("r")
        if node.id in centres:
            classes.append("c")
        share = shares[node.id]
        part_of_most = share / most if share is not None and most else 0.0
        yield (
            f'<g class="{" ".join(classes)}" transform="translate({xs[node.id]:.1f} '
            f'{ys[node.id]:.1f})"><title>{xml_text(face.title)}</title>'
            f"{_box(face, is_round=is_reformat(node), bar=part_of_most)}</g>"
        )


def _box(face: Face, *, is_round: bool, bar: float) -> str:
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
