"""Draw a directed graph in layers (Sugiyama, Tagawa, Toda 1981); tall drawings in columns.

Where everything of a graph lies.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from enginescope.analysis.graph.layout import node_places
from enginescope.analysis.graph.layout.routes import Placed, Point, loop, ranks, routes
from enginescope.core.process_control import gc_paused
from enginescope.core.record import Record, replace

#: Lower drawings stay one column, pixels.
LEAST_HEIGHT = 640.0
# Beside the lines between columns; between these lines, and all of them together at most.
_BESIDE, _LANE, _MOST_LANES = 22.0, 6.0, 72.0
# A cut lies this far below the nodes above it, and at most this part of a column beside its place.
_BELOW, _WINDOW = 4.0, 0.2


@dataclass(frozen=True)
class Sheet:
    """A drawing from 0, 0.

    Attributes:
        x, y, widths: Of the nodes.
        lines: Points of the edges.
        borders: Left and right of each column; empty for one column.
    """

    x: list[float]
    y: list[float]
    widths: list[float]
    lines: list[list[Point]]
    width: float
    height: float
    borders: tuple[float, ...] = ()


def wrapped(sheet: Sheet, bottoms: Sequence[float], aspect: float) -> Sheet:
    """Return the drawing in columns, edges led from the foot of one to the head of the next.

    Args:
        bottoms: Lower border of each layer of nodes, in rising order.
        aspect: Width over height that the columns together aim at.
    """
    cuts = _cuts(sheet, bottoms, aspect) if sheet.height > LEAST_HEIGHT else []
    return _Columns(sheet, cuts).sheet() if cuts else sheet


def _cuts(sheet: Sheet, bottoms: Sequence[float], aspect: float) -> list[float]:
    """Return where the columns end: near equal heights, where the fewest lines cross."""
    ends = [one + _BELOW for one in bottoms[:-1]]
    change = [0] * (len(ends) + 1)
    for line in sheet.lines:
        for (_, y), (_, other) in pairwise(line):
            change[bisect_left(ends, min(y, other))] += 1
            change[bisect_left(ends, max(y, other))] -= 1
    crossing = [0, *accumulate(change)]
    column = math.sqrt(_area(sheet, bottoms) / aspect)
    count = round(sheet.height / column) if column else 1
    borders = set()
    for number in range(1, count):
        place = sheet.height * number / count
        near = [at for at, end in enumerate(ends) if abs(end - place) < _WINDOW * column]
        if near:
            borders.add(min(near, key=lambda at: (crossing[at + 1], abs(ends[at] - place))))
    return [ends[at] for at in sorted(borders)]


def _area(sheet: Sheet, bottoms: Sequence[float]) -> float:
    """Return what the layers take, each as wide as its nodes."""
    spans: dict[int, tuple[float, float]] = {}
    for x, y, width in zip(sheet.x, sheet.y, sheet.widths, strict=True):
        rank = bisect_left(bottoms, y)
        left, right = spans.get(rank, (x, x))
        spans[rank] = min(left, x - width / 2), max(right, x + width / 2)
    height = sheet.height / max(1, len(bottoms))
    return sum(right - left + 2 * _BESIDE for left, right in spans.values()) * height


class _Columns:
    """Columns and the lanes between them, and what lies in each moved to its place."""

    def __init__(self, sheet: Sheet, cuts: list[float]) -> None:
        self._given, self._cuts = sheet, cuts
        crossing = [set[float]() for _ in cuts]
        spans = [(math.inf, -math.inf)] * (len(cuts) + 1)
        for x, y, width in zip(sheet.x, sheet.y, sheet.widths, strict=True):
            spans[self._column(y)] = _wider(spans[self._column(y)], x - width / 2, x + width / 2)
        for line in sheet.lines:
            for column, x in self._passed(line, crossing):
                spans[column] = _wider(spans[column], x, x)
        #: Places of the lines that cross each cut: the rightmost turns first.
        self._lanes = [{x: n for n, x in enumerate(sorted(xs, reverse=True))} for xs in crossing]
        self._pitch = [min(_LANE, _MOST_LANES / max(1, len(some))) for some in crossing]
        self._shift, self._borders, left = [], [], 0.0
        for column, (low, high) in enumerate(spans):
            self._shift.append(left - low)
            self._borders += [left, left + high - low]
            left += high - low + 2 * _BESIDE + (self._room(column) if column < len(cuts) else 0.0)

    def _column(self, y: float) -> int:
        return bisect_left(self._cuts, y)

    def _room(self, cut: int) -> float:
        return len(self._lanes[cut]) * self._pitch[cut]

    def _passed(self, line: list[Point], crossing: list[set[float]]) -> Iterator[tuple[int, float]]:
        """Yield column and x of points and crossings, and collect the latter by their cuts."""
        for x, y in line:
            yield self._column(y), x
        for upper, lower in (sorted(pair, key=lambda one: one[1]) for pair in pairwise(line)):
            for cut in range(self._column(upper[1]), self._column(lower[1])):
                crossing[cut].add(upper[0])
                yield cut, upper[0]
                yield cut + 1, upper[0]

    def _moved(self, column: int, x: float, y: float) -> Point:
        if column:
            y = y - self._cuts[column - 1] + (self._room(column - 1) + _BESIDE)
        return x + self._shift[column], y

    def _across(self, cut: int, x: float) -> list[Point]:
        """Return the way from the foot of a column to the head of the next."""
        lane, pitch = self._lanes[cut][x], self._pitch[cut]
        start, end = self._moved(cut, x, self._cuts[cut]), self._moved(cut + 1, x, self._cuts[cut])
        foot, head = start[1] + (lane + 1) * pitch, lane * pitch
        beside = self._borders[2 * cut + 1] + _BESIDE + lane * pitch
        return [(start[0], foot), (beside, foot), (beside, head), (end[0], head), end]

    def _line(self, line: list[Point]) -> list[Point]:
        if not line:
            return line
        points = [self._moved(self._column(line[0][1]), *line[0])]
        for first, last in pairwise(line):
            begin, end = self._column(first[1]), self._column(last[1])
            for cut in range(begin, end):
                points += self._across(cut, first[0])
            for cut in range(begin - 1, end - 1, -1):
                points += self._across(cut, last[0])[::-1]
            points.append(self._moved(end, *last))
        return points

    def sheet(self) -> Sheet:
        """Return the drawing."""
        given = self._given
        nodes = [self._moved(self._column(y), x, y) for x, y in zip(given.x, given.y, strict=True)]
        ends = [*self._cuts, given.height]
        feet = [
            self._moved(column, 0.0, end)[1]
            + (self._room(column) + _BESIDE if column < len(self._cuts) else 0.0)
            for column, end in enumerate(ends)
        ]
        return Sheet(
            x=[x for x, _ in nodes],
            y=[y for _, y in nodes],
            widths=given.widths,
            lines=[self._line(line) for line in given.lines],
            width=self._borders[-1],
            height=max(feet),
            borders=tuple(self._borders),
        )


def _wider(span: tuple[float, float], low: float, high: float) -> tuple[float, float]:
    return min(span[0], low), max(span[1], high)


class Boxes(Record, frozen=True, kw_only=True, eq=False):
    """A graph to lay out.

    Attributes:
        widths, heights: Of the nodes, in pixels.
        edges: Source and target of each edge; repeats and loops are allowed. Nodes that lie in
            cycles are drawn in the order of their numbers as far as the cycles allow.
        groups: Edges of one source and group run together as far as they go the same way, as one
            tensor does that several layers read. By default each source is one group.
    """

    widths: np.ndarray
    heights: np.ndarray
    edges: np.ndarray
    groups: np.ndarray | None = None


class LaidOut(Record, frozen=True, kw_only=True, eq=False):
    """Positions: y grows downwards and along the edges; nothing is left of or above 0.

    Attributes:
        x, y: Centers of the nodes, in pixels.
        ranks: Layer of the drawing, from 0 at the top of each connected part.
        points: Of all edges one after the other, each from its source's border to its target's;
            edges of one group that run together for a while are one line there: the longer begins
            on the shorter, where they part.
        starts: Edge k has the points ``starts[k]`` to ``starts[k + 1]``.
        is_back: Whether the edge runs upwards, to close a cycle; loops are.
        width, height: Of the whole.
        crossings: Between consecutive layers.
        borders: Left and right of each column of a single part; empty for one column.
    """

    x: np.ndarray
    y: np.ndarray
    widths: np.ndarray
    heights: np.ndarray
    ranks: np.ndarray
    points: np.ndarray
    starts: np.ndarray
    is_back: np.ndarray
    width: float
    height: float
    crossings: int
    borders: tuple[float, ...] = ()

    def route(self, edge: int) -> np.ndarray:
        """Return the points of one edge, shape (k, 2)."""
        return self.points[self.starts[edge] : self.starts[edge + 1]]


#: Width over height that columns, and many parts together, aim at.
ASPECT = 1.6


def connected_parts(
    count: int, edges: Sequence[tuple[int, int]]
) -> list[tuple[list[int], list[int]]]:
    """Return nodes and edges, by number and ascending, of each part; by its first node."""
    parent = list(range(count))

    def top(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for source, target in edges:
        a, b = top(source), top(target)
        parent[max(a, b)] = min(a, b)
    parts: dict[int, tuple[list[int], list[int]]] = {}
    for node in range(count):
        parts.setdefault(top(node), ([], []))[0].append(node)
    for edge, (source, _) in enumerate(edges):
        parts[top(source)][1].append(edge)
    return list(parts.values())


def shelves(sizes: Sequence[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """Return a corner (left, top) for each box, row by row in their order.

    A row ends where it would be wider than the widest box, and than a sheet of a pleasant shape
    with room for all would be.
    """
    area = sum((width + gap) * (height + gap) for width, height in sizes)
    limit = max([math.sqrt(area * ASPECT), *(width for width, _ in sizes)])
    corners: list[tuple[float, float]] = []
    left = top = tallest = 0.0
    for width, height in sizes:
        if left and left + width > limit:
            left, top, tallest = 0.0, top + tallest + gap, 0.0
        corners.append((left, top))
        left += width + gap
        tallest = max(tallest, height)
    return corners


class Spacing(Record, frozen=True, kw_only=True):
    """Free space, pixels: between neighbors in a layer, between layers, between parts.

    Attributes:
        aspect: Width over height of a tall part's columns; ``None``: it stays one column.
    """

    beside: float = 24.0
    below: float = 40.0
    parts: float = 48.0
    aspect: float | None = ASPECT


@dataclass(frozen=True)
class _Part:
    nodes: list[int]
    edges: list[int]
    sheet: Sheet
    ranks: list[int]
    turned: list[bool]
    crossings: int


def lay_out(boxes: Boxes, spacing: Spacing | None = None) -> LaidOut:
    """Return the drawing: layers from top to bottom, connected parts side by side.

    Linear in nodes and edges but for sorting, with a bounded number of passes; deterministic.

    Raises:
        ValueError: An edge's end is not a node, or the arrays do not fit each other.
    """
    spacing = spacing or Spacing()
    count, m = len(boxes.widths), len(boxes.edges)
    edges = boxes.edges.reshape(m, 2)
    groups = edges[:, 0] if boxes.groups is None else boxes.groups
    boxes = replace(boxes, edges=edges, groups=groups)
    if len(boxes.heights) != count or len(groups) != m:
        raise ValueError("as many heights as widths and groups as edges are needed")
    if m and not (edges.min() >= 0 and edges.max() < count):
        raise ValueError("an edge ends at an unknown node")
    with gc_paused():
        pairs = [(source, target) for source, target in edges.tolist()]
        parts = [_draw(boxes, spacing, *part) for part in connected_parts(count, pairs)]
        return _together(boxes, spacing, parts)


def _draw(boxes: Boxes, spacing: Spacing, nodes: list[int], edges: list[int]) -> _Part:
    assert boxes.groups is not None
    groups = boxes.groups[edges]
    local = {node: index for index, node in enumerate(nodes)}
    ends = [(local[source], local[target]) for source, target in boxes.edges[edges].tolist()]
    turned = node_places.against_flow(len(nodes), [a for a, _ in ends], [b for _, b in ends])
    down = [(b, a) if turn else (a, b) for (a, b), turn in zip(ends, turned, strict=True)]
    real = [index for index, (a, b) in enumerate(down) if a != b]
    real_ends = [down[index] for index in real]
    before: list[list[int]] = [[] for _ in nodes]
    after: list[list[int]] = [[] for _ in nodes]
    for source, target in real_ends:
        before[target].append(source)
        after[source].append(target)
    rank = ranks(before, after)
    graph = node_places.layered(rank, real_ends, groups[real].tolist())
    order, crossings = node_places.ordered(graph)
    placed = _placed(graph, order, spacing, (boxes.widths[nodes], boxes.heights[nodes]))
    lines = [loop(placed, a) if a == b else [] for a, b in down]
    drawn = routes(placed, graph, real_ends, spacing.below)
    for index, line in zip(real, drawn, strict=True):
        lines[index] = line[::-1] if turned[index] else line
    sheet = Sheet(
        x=placed.x[: len(nodes)],
        y=placed.y[: len(nodes)],
        widths=placed.widths[: len(nodes)],
        lines=lines,
        width=max([placed.right, *(x for line in lines for x, _ in line)]),
        height=placed.bottoms[-1],
    )
    return _Part(
        nodes=nodes,
        edges=edges,
        sheet=wrapped(sheet, placed.bottoms, spacing.aspect) if spacing.aspect else sheet,
        ranks=rank,
        turned=[turn or a == b for turn, (a, b) in zip(turned, down, strict=True)],
        crossings=crossings,
    )


def _placed(
    graph: node_places.Layers,
    order: node_places.Order,
    spacing: Spacing,
    sizes: tuple[np.ndarray, np.ndarray],
) -> Placed:
    bends = len(graph.rank) - graph.nodes
    widths = sizes[0].tolist() + [6.0] * bends  # what an edge takes beside others and nodes
    x = node_places.horizontal(graph, order, widths, spacing.beside)
    tall = [0.0] * len(order)
    for rank, height in zip(graph.rank, sizes[1].tolist(), strict=False):
        tall[rank] = max(tall[rank], height)
    tops, bottoms, y = [], [], 0.0
    for height in tall:
        tops.append(y)
        bottoms.append(y + height)
        y += height + spacing.below
    return Placed(
        x=x,
        y=[(tops[rank] + bottoms[rank]) / 2 for rank in graph.rank],
        widths=widths,
        heights=sizes[1].tolist() + [tall[rank] for rank in graph.rank[graph.nodes :]],
        tops=tops,
        bottoms=bottoms,
        right=max(one + width / 2 for one, width in zip(x, widths, strict=True)),
    )


def _together(boxes: Boxes, spacing: Spacing, parts: list[_Part]) -> LaidOut:
    corners = shelves([(part.sheet.width, part.sheet.height) for part in parts], spacing.parts)
    placed = list(zip(parts, corners, strict=True))
    count, m = len(boxes.widths), len(boxes.edges)
    x, y, rank = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64)
    is_back = np.zeros(m, dtype=bool)
    lines: list[list[Point]] = [[] for _ in range(m)]
    for part, (left, top) in placed:
        x[part.nodes] = np.array(part.sheet.x) + left
        y[part.nodes] = np.array(part.sheet.y) + top
        rank[part.nodes] = part.ranks
        is_back[part.edges] = part.turned
        for edge, line in zip(part.edges, part.sheet.lines, strict=True):
            lines[edge] = [(a + left, b + top) for a, b in line]
    starts = np.zeros(m + 1, dtype=np.int64)
    np.cumsum([len(line) for line in lines], out=starts[1:])
    flat = [point for line in lines for point in line]
    return LaidOut(
        x=x,
        y=y,
        widths=boxes.widths,
        heights=boxes.heights,
        ranks=rank,
        points=np.array(flat, dtype=np.float64).reshape(len(flat), 2),
        starts=starts,
        is_back=is_back,
        width=max((left + part.sheet.width for part, (left, _) in placed), default=0.0),
        height=max((top + part.sheet.height for part, (_, top) in placed), default=0.0),
        crossings=sum(part.crossings for part in parts),
        borders=parts[0].sheet.borders if len(parts) == 1 else (),
    )
