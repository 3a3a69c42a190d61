"""From a plan to pictures of it: which part, which words, which colors, whose layout.

A drawing as PNG, and how large one may be; as DOT.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from enginescope.analysis.graph.folding.fold import folded
from enginescope.analysis.graph.folding.levels import left_out
from enginescope.analysis.graph.plan_graph import GraphEdge, GraphNode, PlanGraph, plan_graph
from enginescope.analysis.graph.plan_graph_part import (
    GraphPart,
    named,
    parse_beam,
    part_of,
    queried,
    within,
)
from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.roofline.layer_work import layer_work
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Attribution, Plan, Profile
from enginescope.render.base.data_table import printable
from enginescope.render.base.palette import LIGHT
from enginescope.render.graph.categories import Category, edge_labels, edge_titles
from enginescope.render.graph.node_labels import NodeLabel, Wording, is_reformat
from enginescope.render.graph.paint import GraphScene, Paint, findings_by_layer, paint, sketch
from enginescope.render.graph.write.svg import Drawing, SvgLook, drawn, svg
from enginescope.render.html.images import svg_png

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


#: Pixels of one side that viewers show, and of the whole: 4 bytes of memory each.
MOST_SIDE, MOST_PIXELS = 32_767, 100_000_000
#: Dots per unit of the drawing where it is small enough for them.
SHARP = 2.0
_SIZE = re.compile(r'<svg [^>]*\bwidth="(\d+)" height="(\d+)"')


def graph_png(text: str, scale: float | None = None) -> bytes:
    """Return an SVG of ours as PNG.

    Args:
        text: From `svg`, with a theme of its own: a PNG cannot follow its viewer's.
        scale: Pixels a unit; unless given, 2 or, where that is too large, 1.
    """
    found = _SIZE.search(text)
    assert found is not None, "not an SVG of ours"
    width, height = int(found[1]), int(found[2])
    if scale is None:
        scale = SHARP if _fits(width, height, SHARP) else 1.0
    if not _fits(width, height, scale):
        raise UsageError(
            f"a PNG of {width * scale:,.0f} × {height * scale:,.0f} pixels is too large",
            why=f"at most {MOST_SIDE:,} a side and {MOST_PIXELS // 10**6:,} million pixels in all",
            hint="--svg FILE has no limit; --fold, --beam LAYER,N and --filter WHAT draw less",
        )
    return svg_png(text, scale)


def _fits(width: int, height: int, scale: float) -> bool:
    sides = width * scale, height * scale
    return max(sides) <= MOST_SIDE and sides[0] * sides[1] <= MOST_PIXELS


class Wish(Record, frozen=True, kw_only=True):
    """What is to be seen, and how.

    Attributes:
        regions: Which tensors are boxes.
        beam: ``LAYER,N``: only what is within N steps of a layer.
        fold: Which layers are one box; of the whole plan only.
        filters, highlights: As `queried` reads them: what is drawn, the rest folded; what is
            framed.
    """

    coloring: str = "type"
    details: str = "usual"
    regions: str = "io"
    constants: bool = False
    beam: str | None = None
    filters: tuple[str, ...] = ()
    fold: str = "none"
    highlights: tuple[str, ...] = ()


_UNFOLDED = {
    "module": "drawn unfolded: the names of the plan's layers contain no modules",
    "block": "drawn expanded: no block of layers repeats",
}


class Picture:
    """Pictures of one plan; what they have in common is made once.

    What only some pictures need is imported where they need it: a small plan is drawn in less time
    than that takes.

    Args:
        device: The GPU, which some findings depend on.
    """

    def __init__(
        self,
        plan: Plan,
        profile: Profile | None = None,
        wish: Wish | None = None,
        *,
        device: Device | None = None,
    ) -> None:
        self._plan, self._profile, self._device = plan, profile, device
        self.wish = wish or Wish()
        self.notices: tuple[Notice, ...] = ()

    def svg(self, theme: str = "auto") -> str:
        """Return the picture as SVG."""
        return svg(self._drawing, SvgLook(coloring=self.wish.coloring, theme=theme), self._part)

    def png(self, scale: float | None = None) -> bytes:
        """Return the picture as PNG, on white."""
        return graph_png(self.svg(theme="light"), scale)

    def dot(self) -> str:
        """Return it as DOT text."""
        return dot(self._sketch, self.wish.coloring, self._part)

    @cached_property
    def _whole(self) -> PlanGraph:
        wish = self.wish
        graph = plan_graph(self._plan, tensors=wish.regions, constants=wish.constants)
        if wish.fold == "none":
            return graph
        if wish.beam or wish.filters or wish.highlights:
            raise UsageError(
                f"--fold {wish.fold}",
                why="it is of the whole plan: layers in a group cannot be chosen",
                hint="remove --beam, --filter and --highlight",
            )
        from enginescope.analysis.graph.folding.fold import fold, folded

        tree = fold(graph, wish.fold)
        if tree is None:
            self._note(_UNFOLDED[wish.fold])
            return graph
        return folded(graph, tree)

    def _note(self, message: str) -> None:
        self.notices = (*self.notices, Notice(code="I-NOT-FOLDED", message=message, level="info"))

    @cached_property
    def _part(self) -> GraphPart | None:
        wish = self.wish
        if not (wish.beam or wish.filters or wish.highlights):
            return None

        return selected(
            self._whole, beam=wish.beam, filters=wish.filters, highlights=wish.highlights
        )

    @cached_property
    def _sketch(self) -> GraphScene:
        graph = self._part.graph if self._part is not None else self._whole
        return sketch(graph, self._attribution, self._wording)

    @property
    def _attribution(self) -> Attribution | None:
        return attribute(self._plan, self._profile) if self._profile is not None else None

    @property
    def _wording(self) -> Wording:
        works = layer_work(self._plan)
        of_layer = {one.index: work for one, work in zip(self._plan.layers, works, strict=True)}
        if self.wish.coloring != "lint":
            return Wording(details=self.wish.details, works=of_layer)
        from enginescope.rules.base import LintInput
        from enginescope.rules.engine import lint

        given = LintInput(plan=self._plan, profile=self._profile, device=self._device)
        found = findings_by_layer(lint(given).findings)
        return Wording(details=self.wish.details, findings=found, works=of_layer)

    @cached_property
    def _drawing(self) -> Drawing:
        return drawn(self._sketch)


def selected(
    graph: PlanGraph,
    *,
    beam: str | None = None,
    filters: Sequence[str] = (),
    highlights: Sequence[str] = (),
) -> GraphPart | None:
    """Return what is asked for of `graph`; ``None`` if that is all of it, and nothing framed.

    Args:
        beam: ``LAYER,N``: what is within N steps of a layer, after what is filtered out has been
            folded.
        filters, highlights: As `queried` reads them. What the filters do not mean is folded, run by
            run.
    """
    centres, radius = set[int](), 0
    if beam:
        name, radius = parse_beam(beam)
        centres = set(named(graph, name))
    framed = set(queried(graph, highlights)) if highlights else centres
    drawn = graph
    if filters:
        whole = left_out(graph, {*queried(graph, filters), *centres, *framed})
        drawn = folded(graph, whole)
        place = {old: at for at, old in enumerate(whole.members) if isinstance(old, int)}
        centres, framed = ({place[one] for one in those} for those in (centres, framed))
    if not (beam or filters or highlights):
        return None
    kept = within(drawn, centres, radius) if beam else {node.id for node in drawn.nodes}
    part = part_of(drawn, kept, framed & kept)
    return GraphPart(
        graph=part.graph,
        centres=part.centres,
        whole_nodes=len(graph.nodes),
        cut_edges=part.cut_edges,
    )
