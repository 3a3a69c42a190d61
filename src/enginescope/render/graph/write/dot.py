"""A drawing as DOT text, for any Graphviz."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from enginescope.analysis.graph.plan_graph import GraphEdge, GraphNode
from enginescope.analysis.graph.plan_graph_part import GraphPart
from enginescope.render.base.data_table import printable
from enginescope.render.base.palette import LIGHT
from enginescope.render.graph.categories import Category, edge_labels, edge_titles
from enginescope.render.graph.node_labels import NodeLabel, is_reformat
from enginescope.render.graph.paint import GraphScene, Paint, paint

# Graphviz reads at most 16,384 bytes of a string at once; pieces may be joined by +. A character
# becomes at most five bytes here.
_PIECE = 2_000


def dot_string(text: str) -> str:
    """Return `text` as a quoted string that Graphviz shows as it is.

    Control characters become pictures, as in SVG; ``&`` is escaped because Graphviz takes entities
    for characters, backslashes because it takes what follows for commands.
    """
    return _joined(printable(text), "\\\\")


def dot_tooltip(text: str) -> str:
    """Return `text` as `dot_string` does, for tooltips: Graphviz reads backslashes there twice."""
    return _joined(printable(text), "\\" * 4)


def _joined(shown: str, backslash: str) -> str:
    pieces = [shown[start : start + _PIECE] for start in range(0, len(shown), _PIECE)] or [""]
    return " + ".join(f'"{_escaped(piece, backslash)}"' for piece in pieces)


def dot_html(text: str) -> str:
    """Return `text` for a label in Graphviz's HTML."""
    return html.escape(printable(text))


def attributes(pairs: Iterable[tuple[str, str]]) -> str:
    """Return an attribute list; values are quoted already."""
    return "[" + " ".join(f"{name}={value}" for name, value in pairs) + "]"


def _escaped(text: str, backslash: str) -> str:
    return (
        text.replace("&", "&amp;")
        .replace("\\", backslash)
        .replace('"', '\\"')
        .replace("\r", "")
        .replace("\n", "\\n")
    )


_TINT = "33"  # alpha, as our SVG tints boxes
_FONT = '"Helvetica,Arial,sans-serif"'
_HEAD = f"""\
  graph [rankdir=TB ranksep=0.55 nodesep=0.33 labelloc=t labeljust=l fontname={_FONT} \
fontcolor="{LIGHT.ink}" bgcolor="{LIGHT.background}"]
  node [shape=box style="rounded,filled" fontname={_FONT} fontsize=11 fontcolor="{LIGHT.ink}" \
color="{LIGHT.soft}" fillcolor="{LIGHT.background}" margin="0.15,0.06"]
  edge [fontname={_FONT} fontsize=9 fontcolor="{LIGHT.soft}" color="{LIGHT.soft}" arrowsize=0.7]
"""


def dot(given: GraphScene, coloring: str = "type", part: GraphPart | None = None) -> str:
    """Return DOT text with the words, colors and tooltips of the SVG, and without places.

    Args:
        part: Where `given` is a part: its centers are framed.

    Raises:
        UsageError: No such coloring, or what it shows is not known.
    """
    colors = paint(given, coloring)
    centres = set(part.centres) if part else set()
    lines = [f"digraph {dot_string(given.graph.name)} {{\n", _HEAD]
    lines.append(f"  label=<{_title(given, colors)}>\n")
    for node, face in zip(given.graph.nodes, given.faces, strict=True):
        color = colors.nodes[node.id]
        category = None if color is None else colors.categories[color]
        pairs = _node(node, face, category, is_centre=node.id in centres)
        lines.append(f"  n{node.id} {attributes(pairs)}\n")
    words = zip(edge_labels(given.graph), edge_titles(given.graph), strict=True)
    shows_labels = given.wording.details != "few"
    for edge, color, (label, title) in zip(given.graph.edges, colors.edges, words, strict=True):
        category = None if color is None else colors.categories[color]
        pairs = _edge(edge, (label if shows_labels else None, title), category)
        lines.append(f"  n{edge.source} -> n{edge.target} {attributes(pairs)}\n")
    return "".join([*lines, "}\n"])


def _title(given: GraphScene, colors: Paint) -> str:
    rows = [
        f'<TR><TD COLSPAN="2" ALIGN="LEFT"><B>{dot_html(given.graph.name)}</B></TD></TR>',
        f'<TR><TD COLSPAN="2" ALIGN="LEFT">colored by {dot_html(colors.words)}</TD></TR>',
        *(
            f'<TR><TD WIDTH="16" BGCOLOR="{category.color}"> </TD>'
            f'<TD ALIGN="LEFT">{dot_html(category.text)}</TD></TR>'
            for category in colors.categories
        ),
    ]
    return f'<TABLE BORDER="0" CELLSPACING="3" CELLPADDING="1">{"".join(rows)}</TABLE>'


def _node(
    node: GraphNode, face: NodeLabel, category: Category | None, *, is_centre: bool
) -> Iterator[tuple[str, str]]:
    yield "label", dot_string("\n".join((face.heading, *face.lines)))
    yield "tooltip", dot_tooltip(face.title)
    if category is not None:
        tint = "" if category.ink else _TINT
        yield "color", f'"{category.color}"'
        yield "fillcolor", f'"{category.color}{tint}"'
        if category.ink:
            yield "fontcolor", f'"{category.ink}"'
    if is_reformat(node):
        yield "style", '"rounded,filled,dashed"'
    if is_centre or not (node.layer or node.layers):
        yield "penwidth", "4" if is_centre else "2"


def _edge(
    edge: GraphEdge, words: tuple[str | None, str], category: Category | None
) -> Iterator[tuple[str, str]]:
    label, title = words
    if label:
        yield "label", dot_string(label)
        yield "labeltooltip", dot_tooltip(title)
    yield "tooltip", dot_tooltip(title)
    if category is not None:
        yield "color", f'"{category.color}"'
    if edge.is_carried:
        yield "style", '"dashed,bold"'
        yield "constraint", "false"
    elif edge.kind != "data":
        yield "style", '"dashed"' if edge.kind == "reuse" else '"dotted"'
