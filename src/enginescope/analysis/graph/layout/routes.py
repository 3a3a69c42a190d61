"""The lines of edges, between nodes that have their places.

Layers of the drawing for an acyclic graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from enginescope.analysis.graph.layout.node_places import Layers

Point = tuple[float, float]

_LOOP = 18.0


@dataclass(frozen=True)
class Placed:
    """Nodes and bends with their places.

    Attributes:
        x, y: Centers; bends have their layer's.
        widths, heights: Of the nodes; bends are as high as their layer, so that lines pass it
            upright.
        tops, bottoms: Per layer.
        right: The rightmost border of any node or bend.
    """

    x: list[float]
    y: list[float]
    widths: list[float]
    heights: list[float]
    tops: list[float]
    bottoms: list[float]
    right: float


def routes(
    placed: Placed, graph: Layers, edges: Sequence[tuple[int, int]], gap: float
) -> list[list[Point]]:
    """Return each edge's points from the bottom of its source to the top of its target.

    Where edges share bends, the longer one begins where it leaves the shorter one's line.
    Edges that have no chain leave the drawing in the gap under their source, run down beside it
    in the first lane that is free, and come back above their target.
    """
    lanes = _lanes(graph, edges)
    return [
        _through(placed, source, target, chain)
        if chain is not None
        else _beside(placed, graph, (source, target), lanes[edge], gap)
        for edge, ((source, target), chain) in enumerate(zip(edges, graph.chains, strict=True))
    ]


def loop(placed: Placed, node: int) -> list[Point]:
    """Return the line of an edge from a node to itself, at its right side."""
    edge = placed.x[node] + placed.widths[node] / 2
    low, high = (placed.y[node] + placed.heights[node] * part for part in (0.25, -0.25))
    return [(edge, low), (edge + _LOOP, low), (edge + _LOOP, high), (edge, high)]


def _through(placed: Placed, source: int, target: int, chain: list[int]) -> list[Point]:
    points: list[Point] = []
    bends = chain
    if chain[0] == source:
        bends = chain[1:]
        if bends:
            start = _nearest(placed, source, placed.x[bends[0]])
            end = _nearest(placed, target, placed.x[bends[-1]])
        else:
            start, end = _facing(placed, source, target)
        points.append((start, placed.y[source] + placed.heights[source] / 2))
    else:
        end = _nearest(placed, target, placed.x[chain[-1]])
    for bend in bends:
        x, middle, half = placed.x[bend], placed.y[bend], placed.heights[bend] / 2
        points += [(x, middle - half), (x, middle + half)]
    points.append((end, placed.y[target] - placed.heights[target] / 2))
    triples = zip(points, points[1:], points[2:], strict=False)
    bent = [at for before, at, after in triples if not before[0] == at[0] == after[0]]
    return [points[0], *bent, points[-1]]


def _facing(placed: Placed, source: int, target: int) -> tuple[float, float]:
    """Where a line between neighbors begins and ends: upright if they face each other."""
    low = max(_side(placed, source, -1), _side(placed, target, -1))
    high = min(_side(placed, source, 1), _side(placed, target, 1))
    if low <= high:
        narrow = min(source, target, key=lambda node: placed.widths[node])
        upright = min(max(placed.x[narrow], low), high)
        return upright, upright
    return (_nearest(placed, source, placed.x[target]), _nearest(placed, target, placed.x[source]))


def _side(placed: Placed, node: int, sign: int) -> float:
    return placed.x[node] + sign * max(0.0, placed.widths[node] / 2 - 10.0)  # from its corners


def _nearest(placed: Placed, node: int, x: float) -> float:
    return min(max(x, _side(placed, node, -1)), _side(placed, node, 1))


def _lanes(graph: Layers, edges: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Give each edge without a chain the first lane whose last edge ends above it."""
    outside = sorted(
        (graph.rank[edges[edge][0]], graph.rank[edges[edge][1]], edge)
        for edge, chain in enumerate(graph.chains)
        if chain is None
    )
    lane_of: dict[int, int] = {}
    busy: list[tuple[int, int]] = []  # (rank at which it ends, lane)
    free: list[int] = []
    lanes = 0
    for start, end, edge in outside:
        while busy and busy[0][0] < start:
            heappush(free, heappop(busy)[1])
        if free:
            lane = heappop(free)
        else:
            lane, lanes = lanes, lanes + 1
        lane_of[edge] = lane
        heappush(busy, (end, lane))
    return lane_of


def _beside(
    placed: Placed, graph: Layers, ends: tuple[int, int], lane: int, gap: float
) -> list[Point]:
    source, target = ends
    side = placed.right + (lane + 1) * 12.0
    out = placed.bottoms[graph.rank[source]] + gap * 0.3
    back = placed.tops[graph.rank[target]] - gap * 0.3
    start, end = _nearest(placed, source, side), _nearest(placed, target, side)
    return [
        (start, placed.y[source] + placed.heights[source] / 2),
        (start, out),
        (side, out),
        (side, back),
        (end, back),
        (end, placed.y[target] - placed.heights[target] / 2),
    ]


Neighbours = Sequence[Sequence[int]]


def ranks(before: Neighbours, after: Neighbours) -> list[int]:
    """Return a rank for each node, every edge leading to a higher one.

    First the longest path from a source, which puts all at the top and makes edges out of late
    sources long. Then, from the end backwards, a node whose outgoing edges are not fewer than its
    incoming ones goes down to its consumers; from the start, one with more incoming edges goes up
    again. Each step shortens the edges in sum, or leaves it.

    Args:
        before, after: Predecessors and successors of each node; no cycles.
    """
    order = topological(before, after)
    rank = [0] * len(before)
    for node in order:
        rank[node] = max((rank[one] for one in before[node]), default=-1) + 1
    for _ in range(2):
        for node in reversed(order):
            if after[node] and len(after[node]) >= len(before[node]):
                rank[node] = min([rank[one] for one in after[node]]) - 1
        for node in order:
            if before[node] and len(before[node]) > len(after[node]):
                rank[node] = max([rank[one] for one in before[node]]) + 1
    lowest = min(rank, default=0)
    return [one - lowest for one in rank]


def topological(before: Neighbours, after: Neighbours) -> list[int]:
    """Return the nodes, each behind its predecessors."""
    waiting = [len(one) for one in before]
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:  # grows while it is walked
        for one in after[node]:
            waiting[one] -= 1
            if not waiting[one]:
                order.append(one)
    return order
