"""A layered drawing of a directed graph (Sugiyama, Tagawa, Toda 1981), part by part.

Where everything of a graph lies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enginescope.analysis.graph.layout.columns import Sheet, wrapped
from enginescope.analysis.graph.layout.coordinates import against_flow, horizontal
from enginescope.analysis.graph.layout.ordering import Layers, Order, layered, ordered
from enginescope.analysis.graph.layout.routes import Placed, Point, loop, ranks, routes
from enginescope.core.gc_paused import gc_paused
from enginescope.core.record import Record


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


#: Width that an edge takes beside others and beside nodes, pixels.
_BEND = 6.0


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
    """One connected part, drawn from 0, 0."""

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
    if len(boxes.heights) != count or len(groups) != m:
        raise ValueError("as many heights as widths and groups as edges are needed")
    if m and not (edges.min() >= 0 and edges.max() < count):
        raise ValueError("an edge ends at an unknown node")
    with gc_paused():
        pairs = [(source, target) for source, target in edges.tolist()]
        parts = [
            _draw(boxes, spacing, nodes, chosen, (pairs, groups.tolist()))
            for nodes, chosen in connected_parts(count, pairs)
        ]
        return _together(boxes, spacing, parts)


def _draw(
    boxes: Boxes,
    spacing: Spacing,
    nodes: list[int],
    chosen: list[int],
    given: tuple[list[tuple[int, int]], list[int]],
) -> _Part:
    pairs, groups = given
    local = {node: index for index, node in enumerate(nodes)}
    ends = [(local[pairs[edge][0]], local[pairs[edge][1]]) for edge in chosen]
    turned = against_flow(len(nodes), [a for a, _ in ends], [b for _, b in ends])
    down = [(b, a) if turn else (a, b) for (a, b), turn in zip(ends, turned, strict=True)]
    real = [index for index, (a, b) in enumerate(down) if a != b]
    rank = _ranked(len(nodes), [down[index] for index in real])
    graph = layered(rank, [down[index] for index in real], [groups[chosen[i]] for i in real])
    order, crossings = ordered(graph)
    placed = _placed(graph, order, spacing, (boxes.widths[nodes], boxes.heights[nodes]))
    lines: list[list[Point]] = [[] for _ in down]
    drawn = routes(placed, graph, [down[index] for index in real], spacing.below)
    for index, line in zip(real, drawn, strict=True):
        lines[index] = line[::-1] if turned[index] else line
    for index, (a, b) in enumerate(down):
        if a == b:
            lines[index] = loop(placed, a)
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
        edges=chosen,
        sheet=wrapped(sheet, placed.bottoms, spacing.aspect) if spacing.aspect else sheet,
        ranks=rank,
        turned=[turn or a == b for turn, (a, b) in zip(turned, down, strict=True)],
        crossings=crossings,
    )


def _ranked(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    return ranks(before, after)


def _placed(
    graph: Layers, order: Order, spacing: Spacing, sizes: tuple[np.ndarray, np.ndarray]
) -> Placed:
    bends = len(graph.rank) - graph.nodes
    widths = sizes[0].tolist() + [_BEND] * bends
    x = horizontal(graph, order, widths, spacing.beside)
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
    sizes = [(part.sheet.width, part.sheet.height) for part in parts]
    corners = shelves(sizes, spacing.parts)
    placed = list(zip(sizes, corners, strict=True))
    count, m = len(boxes.widths), len(boxes.edges)
    x, y, rank = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64)
    is_back = np.zeros(m, dtype=bool)
    lines: list[list[Point]] = [[] for _ in range(m)]
    for part, (left, top) in zip(parts, corners, strict=True):
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
        width=max((left + size[0] for size, (left, _) in placed), default=0.0),
        height=max((top + size[1] for size, (_, top) in placed), default=0.0),
        crossings=sum(part.crossings for part in parts),
        borders=parts[0].sheet.borders if len(parts) == 1 else (),
    )
