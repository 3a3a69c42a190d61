from graphlib import TopologicalSorter
from itertools import pairwise, permutations, product

from hypothesis import given, settings

from enginescope.analysis.graph.layout import node_places
from enginescope.analysis.graph.layout.node_places import _balanced as balanced
from enginescope.analysis.graph.layout.routes import ranks
from tests.analysis.graph.layout.graphs import graphs


def ranked(count: int, edges: list[tuple[int, int]]) -> list[int]:
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    return ranks(before, after)


@given(graphs(acyclic=True))
def test_every_edge_leads_down_and_none_is_turned_without_need(graph) -> None:
    count, edges = graph
    rank = ranked(count, edges)
    assert all(rank[target] > rank[source] for source, target in edges)
    assert min(rank) == 0
    flipped = [(count - 1 - a, count - 1 - b) for a, b in edges]
    for one in (edges, flipped):
        assert not any(node_places.against_flow(count, [a for a, _ in one], [b for _, b in one]))


def test_a_late_constant_and_an_early_end_stay_by_their_neighbors() -> None:
    # 0 -> 1 -> 2 -> 3, and 4 -> 5 -> 3: what feeds 3 alone need not stand at the top.
    assert ranked(6, [(0, 1), (1, 2), (2, 3), (4, 5), (5, 3)])[4:] == [1, 2]
    assert ranked(4, [(0, 1), (1, 2), (0, 3)])[3] == 1
    assert node_places.against_flow(4, [0, 1, 2, 2], [1, 2, 1, 3]) == [False, False, True, False]
    assert node_places.against_flow(1, [0], [0]) == [False]


@given(graphs())
def test_no_cycle_is_left(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    turned = node_places.against_flow(count, [a for a, _ in edges], [b for _, b in edges])
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for (a, b), turn in zip(edges, turned, strict=True):
        if a != b:
            sorter.add(*((a, b) if turn else (b, a)))
    sorter.prepare()  # raises CycleError


def order_graph(count: int, edges: list[tuple[int, int]]) -> node_places.Layers:
    return node_places.layered(ranked(count, edges), edges, [0] * len(edges))


def places(order: list[list[int]], size: int) -> list[int]:
    place = [0] * size
    for row in order:
        for position, node in enumerate(row):
            place[node] = position
    return place


def counted(order: list[list[int]], graph: node_places.Layers) -> int:
    place, total = places(order, len(graph.rank)), 0
    lines = [(node, end) for node, ends in enumerate(graph.below) for end in ends]
    for index, (a, b) in enumerate(lines):
        for c, d in lines[:index]:
            if graph.rank[a] == graph.rank[c]:
                total += (place[a] - place[c]) * (place[b] - place[d]) < 0
    return total


@settings(deadline=None)
@given(graphs(acyclic=True))
def test_crossings_are_counted_and_neighbors_keep_order_and_distance(graph) -> None:
    layers = order_graph(*graph)
    order, fewest = node_places.ordered(layers)
    assert fewest == counted(order, layers)
    assert fewest == node_places.crossings(order, layers, places(order, len(layers.rank)))
    assert sorted(node for row in order for node in row) == list(range(len(layers.rank)))
    assert all(layers.rank[node] == rank for rank, row in enumerate(order) for node in row)
    widths = [30.0 + node % 4 * 15 for node in range(len(layers.rank))]
    order, _ = node_places.ordered(layers)
    x = node_places.horizontal(layers, order, widths, GAP)
    for row in order:
        for left, right in pairwise(row):
            assert x[right] - x[left] >= (widths[left] + widths[right]) / 2 + GAP - 1e-6
    assert abs(min(one - width / 2 for one, width in zip(x, widths, strict=True))) < 1e-6


def test_what_can_be_drawn_without_crossings_is() -> None:
    ladder = [(0, 4), (1, 3), (0, 5), (1, 6), (4, 7), (3, 8), (5, 9), (6, 10)]
    assert node_places.ordered(order_graph(11, ladder))[1] == 0
    graph = order_graph(4, [(0, 2), (0, 3), (1, 2), (1, 3)])
    best = min(
        counted([list(a), list(b)], graph)
        for a, b in product(permutations((0, 1)), permutations((2, 3)))
    )
    assert node_places.ordered(graph)[1] == best == 1


GAP = 20.0


def test_parents_stand_over_their_children_and_bends_are_upright() -> None:
    layers = order_graph(4, [(0, 1), (0, 2), (0, 3)])
    order, _ = node_places.ordered(layers)
    x = node_places.horizontal(layers, order, [40.0] * 4, GAP)
    assert x[0] == sorted(x[1:])[1]
    edges = [(node, node + 1) for node in range(6)] + [(0, 6)]
    layers = order_graph(7, edges)
    order, _ = node_places.ordered(layers)
    x = node_places.horizontal(layers, order, [40.0] * len(layers.rank), GAP)
    assert len({round(x[bend], 6) for bend in range(7, len(layers.rank))}) == 1


def test_drawings_are_moved_onto_the_narrowest() -> None:
    """And those that are much wider are left out, wherever they stand."""
    narrow, wide = [1000.0, 1100.0], [0.0, 900.0]
    assert balanced([narrow, narrow, wide, wide], [40.0, 40.0]) == [20.0, 120.0]
