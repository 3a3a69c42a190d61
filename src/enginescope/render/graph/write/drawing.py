"""A plan's graph with its places and edge labels: input of every writer of pictures and pages."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from enginescope.analysis.graph.layout.layered import Boxes, LaidOut, lay_out
from enginescope.analysis.graph.plan_graph import PlanGraph
from enginescope.core.gc_paused import gc_paused
from enginescope.core.record import Record
from enginescope.records.plan.plan import Attribution
from enginescope.render.graph.categories import Flow, edge_labels, flow_of
from enginescope.render.graph.node_labels import NodeLabel, Times, text_width
from enginescope.render.graph.paint import GraphScene, sketch

#: Estimated pixels per character beside an edge.
LABEL_CHARACTER = 6.8


class EdgeLabel(Record, frozen=True, kw_only=True, gc=False):
    """Words beside an edge, around a center, in pixels."""

    edge: int
    text: str
    x: float
    y: float


class Drawing(Record, frozen=True, kw_only=True, eq=False):
    """A graph, what is written on its nodes, and where they lie.

    Attributes:
        faces: One per node.
        laid_out: Nodes and edges in the graph's order.
        labels: One for each tensor that found room.
        sketch: The same without places.
    """

    graph: PlanGraph
    faces: tuple[NodeLabel, ...]
    times: Times | None
    laid_out: LaidOut
    labels: tuple[EdgeLabel, ...]
    sketch: GraphScene


def draw(graph: PlanGraph, attribution: Attribution | None = None) -> Drawing:
    """Return the drawing of `graph`, with times on its layers where they are known."""
    return drawn(sketch(graph, attribution))


def drawn(given: GraphScene, laid_out: LaidOut | None = None) -> Drawing:
    """Return `given` with its places.

    Args:
        laid_out: Of `boxes_of` the same; our own layout's unless given.
    """
    if laid_out is None:
        laid_out = lay_out(boxes_of(given))
    with gc_paused():
        labels = _labels(given, laid_out) if given.wording.details != "few" else ()
    return Drawing(
        graph=given.graph,
        faces=given.faces,
        times=given.times,
        laid_out=laid_out,
        labels=labels,
        sketch=given,
    )


def boxes_of(given: GraphScene) -> Boxes:
    """Return the sizes of the nodes and the edges, those of one tensor in one group."""
    graph, faces = given.graph, given.faces
    groups: dict[Flow, int] = {}
    return Boxes(
        widths=np.array([face.width for face in faces], dtype=np.float64),
        heights=np.array([face.height for face in faces], dtype=np.float64),
        edges=np.array(
            [(edge.source, edge.target) for edge in graph.edges], dtype=np.int64
        ).reshape(len(graph.edges), 2),
        groups=np.array(
            [groups.setdefault(flow_of(edge), len(groups)) for edge in graph.edges], dtype=np.int64
        ),
    )


def _labels(given: GraphScene, laid_out: LaidOut) -> tuple[EdgeLabel, ...]:
    """One label a tensor: beside the edge that has the most of its line to itself."""
    texts: dict[int, str] = {}
    shown: dict[Flow, int] = {}
    first_y = laid_out.points[laid_out.starts[:-1], 1].tolist() if len(given.graph.edges) else []
    for index, (edge, text) in enumerate(
        zip(given.graph.edges, edge_labels(given.graph), strict=True)
    ):
        if text is None:
            continue
        texts[index] = text
        flow = flow_of(edge)
        before = shown.setdefault(flow, index)
        if first_y[index] < first_y[before]:
            shown[flow] = index
    wanted = sorted(shown.values())
    sizes = {one: text_width(texts[one], LABEL_CHARACTER) for one in wanted}
    return tuple(
        EdgeLabel(edge=edge, text=texts[edge], x=x, y=y)
        for edge, x, y in place_labels(laid_out, sizes, LABEL_HEIGHT)
    )


#: Pixels that a line of words needs, from top to bottom.
LABEL_HEIGHT = 12.0
# Of the grid that says what is near what; between a line and the words beside it; how many rows of
# cells of one line are looked at.
_CELL_WIDTH, _CELL_HEIGHT = 256.0, 96.0
_BESIDE, _MOST_ROWS = 5.0, 400
#: Along and aside, as parts of the whole, of a curve whose ends are upright: at 1/6, 2/6, …
_CURVE = tuple(
    (1.5 * t * (1 - t) + t**3, t * t * (3 - 2 * t)) for t in (k / 6 for k in range(1, 7))
)

#: Left, top, right, bottom.
Rectangle = tuple[float, float, float, float]


def place_labels(
    laid_out: LaidOut, widths: Mapping[int, float], height: float
) -> Iterator[tuple[int, float, float]]:
    """Yield edge and center for each label that fits beside its edge.

    Tried are both sides where the edge begins, then where it ends. A label that would lie on a
    node, on another label or, if it can be helped, on a line is not placed there; one that fits
    nowhere is left out. Linear in what there is, but for cells that hold much.

    Args:
        widths: Edge to the width of its label, in pixels.
        height: Of every label.
    """
    taken, lines = _Grid(), _Grid()
    for box in _boxes(laid_out):
        taken.add(box)
    points, starts = laid_out.points.tolist(), laid_out.starts.tolist()
    for edge in range(len(starts) - 1):
        for line in _lines(points[starts[edge] : starts[edge + 1]]):
            lines.add(line)
    for edge, width in widths.items():
        route = points[starts[edge] : starts[edge + 1]]
        found = [one for one in _places(route, width, height) if not taken.meets(one)]
        if found:
            place = next((one for one in found if not lines.meets(one)), found[0])
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
    left, right = int(one[0] // _CELL_WIDTH), int(one[2] // _CELL_WIDTH)
    top, bottom = int(one[1] // _CELL_HEIGHT), int(one[3] // _CELL_HEIGHT)
    if left == right and top == bottom:
        return ((left, top),)
    rows = range(top, min(bottom, top + _MOST_ROWS) + 1)
    return [(column, row) for row in rows for column in range(left, right + 1)]


def _boxes(laid_out: LaidOut) -> Iterator[Rectangle]:
    rows = (one.tolist() for one in (laid_out.x, laid_out.y, laid_out.widths, laid_out.heights))
    for x, y, width, height in zip(*rows, strict=True):
        yield x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _lines(route: list[list[float]]) -> Iterator[Rectangle]:
    """Upright and level lines, and pieces of the curves that begin and end upright."""
    for (x, y), (a, b) in itertools.pairwise(route):
        if x == a or y == b:
            yield min(x, a) - 1, min(y, b) - 1, max(x, a) + 1, max(y, b) + 1
            continue
        before = x, y
        for along, aside in _CURVE:
            now = x + (a - x) * aside, y + (b - y) * along
            yield (
                min(before[0], now[0]),
                min(before[1], now[1]),
                max(before[0], now[0]),
                max(before[1], now[1]),
            )
            before = now


def _places(route: list[list[float]], width: float, height: float) -> Iterator[Rectangle]:
    (x, y), (a, b) = route[0], route[-1]
    down = 1 if route[1][1] >= y else -1
    begin = y + down * (2 + height / 2)
    end = b - down * (10 + height / 2)
    for here, middle in ((x, begin), (x, begin + down * height), (a, end)):
        for left in (here + _BESIDE, here - _BESIDE - width):
            yield left, middle - height / 2, left + width, middle + height / 2
