from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings

from enginescope.analysis.graph.layout.node_places import _balanced as balanced
from enginescope.analysis.graph.layout.node_places import horizontal, ordered
from tests.analysis.graph.layout.graphs import graphs
from tests.analysis.graph.layout.test_ordering import graph_of

GAP = 20.0


@settings(deadline=None)
@given(graphs(acyclic=True))
def test_neighbours_keep_their_order_and_distance(graph: tuple[int, list[tuple[int, int]]]) -> None:
    layers = graph_of(*graph)
    widths = [30.0 + node % 4 * 15 for node in range(len(layers.rank))]
    order, _ = ordered(layers)
    x = horizontal(layers, order, widths, GAP)
    for row in order:
        for left, right in pairwise(row):
            assert x[right] - x[left] >= (widths[left] + widths[right]) / 2 + GAP - 1e-6
    assert abs(min(one - width / 2 for one, width in zip(x, widths, strict=True))) < 1e-6


def test_a_parent_stands_over_the_middle_of_its_children() -> None:
    layers = graph_of(4, [(0, 1), (0, 2), (0, 3)])
    order, _ = ordered(layers)
    x = horizontal(layers, order, [40.0] * 4, GAP)
    assert x[0] == sorted(x[1:])[1]


def test_the_bends_of_a_long_edge_are_upright() -> None:
    edges = [(node, node + 1) for node in range(6)] + [(0, 6)]
    layers = graph_of(7, edges)
    order, _ = ordered(layers)
    x = horizontal(layers, order, [40.0] * len(layers.rank), GAP)
    assert len({round(x[bend], 6) for bend in range(7, len(layers.rank))}) == 1


def test_drawings_are_moved_onto_the_narrowest() -> None:
    """And those that are much wider are left out, wherever they stand."""
    narrow, wide = [1000.0, 1100.0], [0.0, 900.0]
    assert balanced([narrow, narrow, wide, wide], [40.0, 40.0]) == [20.0, 120.0]
