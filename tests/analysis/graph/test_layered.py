import itertools
from graphlib import TopologicalSorter
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enginescope.analysis.graph.layout import layered, node_places
from enginescope.analysis.graph.layout.node_places import _balanced as balanced
from enginescope.analysis.graph.layout.routes import ranks
from enginescope.core.record import replace
from enginescope.render.graph.write.svg import LABEL_HEIGHT, place_labels


def boxes(count: int, edges: list[tuple[int, int]]) -> layered.Boxes:
    return layered.Boxes(
        widths=np.array([60.0 + 10 * (node % 3) for node in range(count)], dtype=np.float64),
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


def assert_sound(given: layered.Boxes, laid_out: layered.LaidOut) -> None:
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
            assert beside or abs(y[a] - y[b]) >= half_height[a] + half_height[b] - slack, (a, b)
    assert len(laid_out.starts) == len(given.edges) + 1
    assert laid_out.starts[-1] == len(laid_out.points)
    for edge, (source, target) in enumerate(given.edges.tolist()):
        route = laid_out.route(edge)
        assert len(route) >= 2
        # Of edges that run together, the longer begins on the shorter: one end touches a node.
        node, point = (source, route[0]) if laid_out.is_back[edge] else (target, route[-1])
        dx = abs(point[0] - laid_out.x[node]) - given.widths[node] / 2
        dy = abs(point[1] - laid_out.y[node]) - given.heights[node] / 2
        assert abs(max(dx, dy)) < slack, (node, point)
        if source != target:
            ranks = laid_out.ranks
            assert (ranks[target] > ranks[source]) != laid_out.is_back[edge]


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_any_graph_is_drawn_soundly(graph: tuple[int, list[tuple[int, int]]]) -> None:
    given_boxes = boxes(*graph)
    assert_sound(given_boxes, layered.lay_out(given_boxes))


def test_a_chain_is_upright_the_same_every_time_and_a_residual_passes_beside() -> None:
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (3, 4)]
    one, two = layered.lay_out(boxes(5, edges)), layered.lay_out(boxes(5, edges))
    assert np.array_equal(one.x, two.x)
    assert np.array_equal(one.points, two.points)
    laid_out = layered.lay_out(boxes(4, [(0, 1), (1, 2), (2, 3)]))
    assert (laid_out.ranks.tolist(), len(set(laid_out.x.tolist()))) == ([0, 1, 2, 3], 1)
    assert [len(laid_out.route(edge)) for edge in range(3)] == [2, 2, 2]
    assert len(set(laid_out.points[:, 0].tolist())) == 1
    laid_out = layered.lay_out(boxes(4, [(0, 1), (1, 2), (2, 3), (0, 3)]))
    route = laid_out.route(3)
    for node in (1, 2):
        inside = abs(route[:, 0] - laid_out.x[node]) < laid_out.widths[node] / 2
        beside = abs(route[:, 1] - laid_out.y[node]) < laid_out.heights[node] / 2
        assert not (inside & beside).any()
    assert laid_out.crossings == 0
    laid_out = layered.lay_out(boxes(0, []))
    assert (laid_out.width, laid_out.height, len(laid_out.points)) == (0.0, 0.0, 0)


def test_cycles_and_loops_stay_beside_their_nodes() -> None:
    laid_out = layered.lay_out(boxes(3, [(0, 1), (1, 2), (2, 0)]))
    assert laid_out.is_back.tolist() == [False, False, True]
    start, *_, end = laid_out.route(2).tolist()
    assert start[1] > end[1]
    laid_out = layered.lay_out(boxes(1, [(0, 0)]))
    assert laid_out.is_back.tolist() == [True]
    assert laid_out.route(0)[:, 0].max() <= laid_out.width
    assert laid_out.width > laid_out.widths[0]


def test_edges_of_one_source_share_their_bends() -> None:
    readers = [(0, node) for node in range(2, 40)]
    given_boxes = boxes(40, [(node, node + 1) for node in range(1, 39)] + readers)
    together = layered.lay_out(given_boxes, layered.Spacing(aspect=None))
    apart = replace(given_boxes, groups=np.arange(len(given_boxes.edges)))
    assert together.width < layered.lay_out(apart, layered.Spacing(aspect=None)).width / 3
    assert_sound(apart, together)


def test_what_would_need_too_many_bends_runs_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [(node, node + 1) for node in range(19)] + [(0, 19), (1, 18), (15, 17)]
    free = layered.lay_out(boxes(20, edges), layered.Spacing(aspect=None))
    monkeypatch.setattr(node_places, "_MAX_BENDS", 0)
    tight = layered.lay_out(boxes(20, edges), layered.Spacing(aspect=None))
    assert_sound(boxes(20, edges), tight)
    outer, inner, short = (float(tight.route(edge)[:, 0].max()) for edge in (19, 20, 21))
    assert min(outer, inner, short) > float((tight.x + tight.widths / 2).max())
    assert len({outer, inner, short}) == 3  # all three run side by side for a while
    assert free.ranks.tolist() == tight.ranks.tolist()


def test_parts_lie_side_by_side_and_a_low_drawing_stays_one_column() -> None:
    laid_out = layered.lay_out(boxes(4, [(0, 1), (2, 3)]), layered.Spacing(parts=100.0))
    right = laid_out.x[:2].max() + laid_out.widths[:2].max() / 2
    assert laid_out.x[2:].min() - laid_out.widths[2:].max() / 2 >= right + 99
    assert laid_out.ranks.tolist() == [0, 1, 0, 1]
    assert layered.lay_out(boxes(6, [(node, node + 1) for node in range(5)])).borders == ()
    parts = layered.connected_parts(5, [(3, 1), (0, 4), (4, 0)])
    assert parts == [([0, 4], [1, 2]), ([1, 3], [0]), ([2], [])]
    assert layered.connected_parts(0, []) == []


def test_wrong_arrays_are_told() -> None:
    with pytest.raises(ValueError, match="unknown node"):
        layered.lay_out(boxes(2, [(0, 2)]))
    with pytest.raises(ValueError, match="as many"):
        layered.lay_out(replace(boxes(2, [(0, 1)]), heights=np.full(1, 30.0)))


def passes_through(found: layered.LaidOut) -> list[tuple[int, int]]:
    """Edges with an upright or level piece inside a node, with that node."""
    hits = []
    for edge in range(len(found.starts) - 1):
        for (x, y), (a, b) in itertools.pairwise(found.route(edge).tolist()):
            if x != a and y != b:
                continue  # a curve, between the layers of nodes
            for node in range(len(found.x)):
                wide, tall = found.widths[node] / 2 - 1, found.heights[node] / 2 - 1
                beside = max(x, a) <= found.x[node] - wide or min(x, a) >= found.x[node] + wide
                above = max(y, b) <= found.y[node] - tall or min(y, b) >= found.y[node] + tall
                if not (beside or above):
                    hits.append((edge, node))
    return hits


@pytest.mark.parametrize("count", [25, 60, 140, 431])
def test_a_chain_fills_a_sheet(count: int) -> None:
    chain = [(node, node + 1) for node in range(count - 1)]
    given_boxes = boxes(count, chain + [(node, node + 3) for node in range(0, count - 3, 3)])
    found = layered.lay_out(given_boxes)
    assert_sound(given_boxes, found)
    assert layered.ASPECT / 2 < found.width / found.height < 2 * layered.ASPECT
    lefts, rights = found.borders[::2], found.borders[1::2]
    assert all(right < left for right, left in zip(rights, lefts[1:], strict=False))
    assert passes_through(found) == []
    tall = layered.lay_out(given_boxes, layered.Spacing(aspect=None))
    assert tall.borders == ()
    assert tall.height > 2 * found.height


def test_lines_between_columns_have_lanes_of_their_own() -> None:
    """Three tensors that live from the first to the last layer cross every cut apart."""
    edges = [(node, node + 1) for node in range(59)]
    edges += [(node, 59 - node) for node in range(3)]
    found = layered.lay_out(boxes(60, edges))
    assert len(found.borders) > 4
    for right, left in zip(found.borders[1::2], found.borders[2::2], strict=False):
        inside = [
            {round(x, 3) for x, _ in found.route(edge).tolist() if right + 1 < x < left - 1}
            for edge in range(59, 62)
        ]
        assert all(len(one) == 1 for one in inside)
        assert len(set().union(*inside)) == 3


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(graphs())
def test_any_graph_can_be_wrapped(monkeypatch, graph) -> None:
    monkeypatch.setattr(layered, "LEAST_HEIGHT", 0.0)
    given_boxes = boxes(*graph)
    found = layered.lay_out(given_boxes, layered.Spacing(aspect=6.0))
    assert_sound(given_boxes, found)
    assert np.isfinite(found.points).all()
    assert found.points.min(initial=0.0) >= 0


def laid_out(count: int, edges: list[tuple[int, int]]) -> layered.LaidOut:
    given_boxes = boxes(count, edges)
    wide, tall = np.full(count, 120.0), np.full(count, 44.0)
    return layered.lay_out(replace(given_boxes, widths=wide, heights=tall))


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def rectangles(found: layered.LaidOut, width: float) -> list[tuple[float, ...]]:
    widths = dict.fromkeys(range(len(found.starts) - 1), width)
    return [
        (x - width / 2, y - LABEL_HEIGHT / 2, x + width / 2, y + LABEL_HEIGHT / 2)
        for _, x, y in place_labels(found, widths, LABEL_HEIGHT)
    ]


@given(graphs(), st.sampled_from([20.0, 90.0, 260.0]))
def test_labels_lie_neither_on_each_other_nor_on_nodes(graph, width) -> None:
    found = laid_out(*graph)
    labels = rectangles(found, width)
    assert not any(overlap(a, b) for a, b in itertools.combinations(labels, 2))
    sides = zip(found.x, found.y, found.widths, found.heights, strict=True)
    boxes = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for x, y, w, h in sides]
    assert not any(overlap(a, b) for a in labels for b in boxes)


def test_a_label_that_is_asked_for_is_beside_the_begin_of_its_edge() -> None:
    found = laid_out(2, [(0, 1)])
    ((edge, x, y),) = place_labels(found, {0: 80.0}, LABEL_HEIGHT)
    line_x, line_y = found.route(0)[0]
    assert edge == 0
    assert x - 40 > line_x
    assert 0 < y - line_y < 20
    found = laid_out(3, [(0, 1), (1, 2)])
    assert [edge for edge, _, _ in place_labels(found, {1: 30.0}, LABEL_HEIGHT)] == [1]
    assert list(place_labels(laid_out(1, []), {}, LABEL_HEIGHT)) == []


def test_shelves_do_not_overlap_and_keep_a_shape() -> None:
    sizes = [(100.0, 40.0 + index) for index in range(20)]
    corners = layered.shelves(sizes, 10.0)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(corners, sizes, strict=True)]
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))
    width, height = max(one[2] for one in boxes), max(one[3] for one in boxes)
    assert 0.5 < width / height < 4


def ranked(count: int, edges: list[tuple[int, int]]) -> list[int]:
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    return ranks(before, after)


GAP = 20.0


@given(graphs(acyclic=True))
def test_every_edge_leads_down_and_none_is_turned_without_need(graph) -> None:
    count, edges = graph
    rank = ranked(count, edges)
    assert all(rank[target] > rank[source] for source, target in edges)
    assert min(rank) == 0
    for one in (edges, [(count - 1 - a, count - 1 - b) for a, b in edges]):
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
    orders = product(permutations((0, 1)), permutations((2, 3)))
    best = min(counted([list(a), list(b)], graph) for a, b in orders)
    assert node_places.ordered(graph)[1] == best == 1


def test_parents_stand_over_their_children_and_bends_are_upright() -> None:
    layers = order_graph(4, [(0, 1), (0, 2), (0, 3)])
    order, _ = node_places.ordered(layers)
    x = node_places.horizontal(layers, order, [40.0] * 4, GAP)
    assert x[0] == sorted(x[1:])[1]
    layers = order_graph(7, [(node, node + 1) for node in range(6)] + [(0, 6)])
    order, _ = node_places.ordered(layers)
    x = node_places.horizontal(layers, order, [40.0] * len(layers.rank), GAP)
    assert len({round(x[bend], 6) for bend in range(7, len(layers.rank))}) == 1


def test_drawings_are_moved_onto_the_narrowest() -> None:
    """And those that are much wider are left out, wherever they stand."""
    narrow, wide = [1000.0, 1100.0], [0.0, 900.0]
    assert balanced([narrow, narrow, wide, wide], [40.0, 40.0]) == [20.0, 120.0]
