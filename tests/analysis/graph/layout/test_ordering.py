from __future__ import annotations

from itertools import permutations, product

from hypothesis import given, settings

from enginescope.analysis.graph.layout.node_places import Layers, crossings, layered, ordered
from tests.analysis.graph.layout.graphs import graphs
from tests.analysis.graph.layout.test_ranking import ranked


def graph_of(count: int, edges: list[tuple[int, int]]) -> Layers:
    return layered(ranked(count, edges), edges, [0] * len(edges))


def places(order: list[list[int]], size: int) -> list[int]:
    place = [0] * size
    for row in order:
        for position, node in enumerate(row):
            place[node] = position
    return place


def counted(order: list[list[int]], graph: Layers) -> int:
    place, total = places(order, len(graph.rank)), 0
    lines = [(node, end) for node, ends in enumerate(graph.below) for end in ends]
    for index, (a, b) in enumerate(lines):
        for c, d in lines[:index]:
            if graph.rank[a] == graph.rank[c]:
                total += (place[a] - place[c]) * (place[b] - place[d]) < 0
    return total


@settings(deadline=None)
@given(graphs(acyclic=True))
def test_crossings_are_counted_and_all_nodes_kept(graph: tuple[int, list[tuple[int, int]]]) -> None:
    layers = graph_of(*graph)
    order, fewest = ordered(layers)
    assert fewest == counted(order, layers)
    assert fewest == crossings(order, layers, places(order, len(layers.rank)))
    assert sorted(node for row in order for node in row) == list(range(len(layers.rank)))
    assert all(layers.rank[node] == rank for rank, row in enumerate(order) for node in row)


def test_what_can_be_drawn_without_crossings_is() -> None:
    ladder = [(0, 4), (1, 3), (0, 5), (1, 6), (4, 7), (3, 8), (5, 9), (6, 10)]
    assert ordered(graph_of(11, ladder))[1] == 0


def test_two_by_two_must_cross_once() -> None:
    graph = graph_of(4, [(0, 2), (0, 3), (1, 2), (1, 3)])
    best = min(
        counted([list(a), list(b)], graph)
        for a, b in product(permutations((0, 1)), permutations((2, 3)))
    )
    assert ordered(graph)[1] == best == 1
