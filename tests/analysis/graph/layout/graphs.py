"""Graphs to lay out, and what holds of every drawing."""

import numpy as np
from hypothesis import strategies as st

from enginescope.analysis.graph.layout.layered import Boxes, LaidOut


def boxes(count: int, edges: list[tuple[int, int]], width: float = 60.0) -> Boxes:
    return Boxes(
        widths=np.array([width + 10 * (node % 3) for node in range(count)], dtype=np.float64),
        heights=np.array([30.0 + 8 * (node % 2) for node in range(count)], dtype=np.float64),
        edges=np.array(edges, dtype=np.int64).reshape(len(edges), 2),
    )


@st.composite
def graphs(draw: st.DrawFn, *, acyclic: bool = False) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 14))
    node = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=24))
    if acyclic:
        edges = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]
    return count, edges


def assert_sound(given: Boxes, laid_out: LaidOut) -> None:
    """No two nodes overlap, all lie within the drawing, every edge has its line."""
    x, y = laid_out.x, laid_out.y
    half_width, half_height = given.widths / 2, given.heights / 2
    slack = 1e-6
    assert (x - half_width).min() >= -slack
    assert (y - half_height).min() >= -slack
    assert (x + half_width).max() <= laid_out.width + slack
    assert (y + half_height).max() <= laid_out.height + slack
    for a in range(len(x)):
        for b in range(a):
            beside = abs(x[a] - x[b]) >= half_width[a] + half_width[b] - slack
            above = abs(y[a] - y[b]) >= half_height[a] + half_height[b] - slack
            assert beside or above, (a, b)
    assert len(laid_out.starts) == len(given.edges) + 1
    assert laid_out.starts[-1] == len(laid_out.points)
    for edge, (source, target) in enumerate(given.edges.tolist()):
        route = laid_out.route(edge)
        assert len(route) >= 2
        # Of edges that run together, the longer begins on the shorter: one end touches a node.
        assert_touches(
            given,
            laid_out,
            *((source, route[0]) if laid_out.is_back[edge] else (target, route[-1])),
        )
        if source != target:
            ranks = laid_out.ranks
            assert (ranks[target] > ranks[source]) != laid_out.is_back[edge]


def assert_touches(given: Boxes, laid_out: LaidOut, node: int, point: np.ndarray) -> None:
    dx = abs(point[0] - laid_out.x[node]) - given.widths[node] / 2
    dy = abs(point[1] - laid_out.y[node]) - given.heights[node] / 2
    assert abs(max(dx, dy)) < 1e-6, (node, point)
