import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enginescope.analysis.graph.layout import layered, node_places
from enginescope.analysis.graph.layout.layered import (
    ASPECT,
    Boxes,
    LaidOut,
    Spacing,
    connected_parts,
    lay_out,
    shelves,
)
from enginescope.render.graph.write.svg import LABEL_HEIGHT, place_labels
from tests.analysis.graph.layout.graphs import assert_sound, boxes, graphs


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_any_graph_is_drawn_soundly(graph: tuple[int, list[tuple[int, int]]]) -> None:
    given_boxes = boxes(*graph)
    assert_sound(given_boxes, lay_out(given_boxes))


def test_a_chain_is_upright_the_same_every_time_and_a_residual_passes_beside() -> None:
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (3, 4)]
    one, two = lay_out(boxes(5, edges)), lay_out(boxes(5, edges))
    assert np.array_equal(one.x, two.x)
    assert np.array_equal(one.points, two.points)
    laid_out = lay_out(boxes(4, [(0, 1), (1, 2), (2, 3)]))
    assert (laid_out.ranks.tolist(), len(set(laid_out.x.tolist()))) == ([0, 1, 2, 3], 1)
    assert [len(laid_out.route(edge)) for edge in range(3)] == [2, 2, 2]
    assert len(set(laid_out.points[:, 0].tolist())) == 1
    laid_out = lay_out(boxes(4, [(0, 1), (1, 2), (2, 3), (0, 3)]))
    route = laid_out.route(3)
    for node in (1, 2):
        inside = abs(route[:, 0] - laid_out.x[node]) < laid_out.widths[node] / 2
        beside = abs(route[:, 1] - laid_out.y[node]) < laid_out.heights[node] / 2
        assert not (inside & beside).any()
    assert laid_out.crossings == 0
    laid_out = lay_out(boxes(0, []))
    assert (laid_out.width, laid_out.height, len(laid_out.points)) == (0.0, 0.0, 0)


def test_cycles_and_loops_stay_beside_their_nodes() -> None:
    laid_out = lay_out(boxes(3, [(0, 1), (1, 2), (2, 0)]))
    assert laid_out.is_back.tolist() == [False, False, True]
    start, *_, end = laid_out.route(2).tolist()
    assert start[1] > end[1]
    laid_out = lay_out(boxes(1, [(0, 0)]))
    assert laid_out.is_back.tolist() == [True]
    assert laid_out.route(0)[:, 0].max() <= laid_out.width
    assert laid_out.width > laid_out.widths[0]


def test_edges_of_one_source_share_their_bends() -> None:
    readers = [(0, node) for node in range(2, 40)]
    chain = [(node, node + 1) for node in range(1, 39)]
    together = lay_out(boxes(40, [*chain, *readers]), Spacing(aspect=None))
    apart = boxes(40, [*chain, *readers])
    apart = Boxes(
        widths=apart.widths,
        heights=apart.heights,
        edges=apart.edges,
        groups=np.arange(len(apart.edges)),
    )
    assert together.width < lay_out(apart, Spacing(aspect=None)).width / 3
    assert_sound(apart, together)


def test_what_would_need_too_many_bends_runs_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [(node, node + 1) for node in range(19)] + [(0, 19), (1, 18), (15, 17)]
    free = lay_out(boxes(20, edges), Spacing(aspect=None))
    monkeypatch.setattr(node_places, "_MAX_BENDS", 0)
    tight = lay_out(boxes(20, edges), Spacing(aspect=None))
    assert_sound(boxes(20, edges), tight)
    outer, inner, short = (float(tight.route(edge)[:, 0].max()) for edge in (19, 20, 21))
    border = float((tight.x + tight.widths / 2).max())
    assert min(outer, inner, short) > border
    assert len({outer, inner, short}) == 3  # all three run side by side for a while
    assert free.ranks.tolist() == tight.ranks.tolist()


def test_parts_lie_side_by_side_and_a_low_drawing_stays_one_column() -> None:
    laid_out = lay_out(boxes(4, [(0, 1), (2, 3)]), Spacing(parts=100.0))
    right = laid_out.x[:2].max() + laid_out.widths[:2].max() / 2
    assert laid_out.x[2:].min() - laid_out.widths[2:].max() / 2 >= right + 99
    assert laid_out.ranks.tolist() == [0, 1, 0, 1]
    assert lay_out(boxes(6, [(node, node + 1) for node in range(5)])).borders == ()
    assert connected_parts(5, [(3, 1), (0, 4), (4, 0)]) == [
        ([0, 4], [1, 2]),
        ([1, 3], [0]),
        ([2], []),
    ]
    assert connected_parts(0, []) == []


def test_wrong_arrays_are_told() -> None:
    with pytest.raises(ValueError, match="unknown node"):
        lay_out(boxes(2, [(0, 2)]))
    good = boxes(2, [(0, 1)])
    with pytest.raises(ValueError, match="as many"):
        lay_out(Boxes(widths=good.widths, heights=good.heights[:1], edges=good.edges))


def passes_through(found: LaidOut) -> list[tuple[int, int]]:
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
    residuals = [(node, node + 3) for node in range(0, count - 3, 3)]
    given_boxes = boxes(count, [*chain, *residuals])
    found = lay_out(given_boxes)
    assert_sound(given_boxes, found)
    assert ASPECT / 2 < found.width / found.height < 2 * ASPECT
    lefts, rights = found.borders[::2], found.borders[1::2]
    assert all(right < left for right, left in zip(rights, lefts[1:], strict=False))
    assert passes_through(found) == []
    tall = lay_out(given_boxes, Spacing(aspect=None))
    assert tall.borders == ()
    assert tall.height > 2 * found.height


def test_lines_between_columns_have_lanes_of_their_own() -> None:
    """Three tensors that live from the first to the last layer cross every cut apart."""
    edges = [(node, node + 1) for node in range(59)]
    edges += [(node, 59 - node) for node in range(3)]
    found = lay_out(boxes(60, edges))
    assert len(found.borders) > 4
    gutters = list(zip(found.borders[1::2], found.borders[2::2], strict=False))
    for right, left in gutters:
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
    found = lay_out(given_boxes, Spacing(aspect=6.0))
    assert_sound(given_boxes, found)
    assert np.isfinite(found.points).all()
    assert found.points.min(initial=0.0) >= 0


GRAPHS = st.integers(2, 9).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=14),
    )
)


def laid_out(count: int, edges: list[tuple[int, int]], width: float = 120.0) -> LaidOut:
    return lay_out(
        Boxes(
            widths=np.full(count, width),
            heights=np.full(count, 44.0),
            edges=np.array(edges, dtype=np.int64).reshape(len(edges), 2),
        )
    )


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def rectangles(found: LaidOut, width: float) -> list[tuple[float, ...]]:
    widths = dict.fromkeys(range(len(found.starts) - 1), width)
    return [
        (x - width / 2, y - LABEL_HEIGHT / 2, x + width / 2, y + LABEL_HEIGHT / 2)
        for _, x, y in place_labels(found, widths, LABEL_HEIGHT)
    ]


@given(GRAPHS, st.sampled_from([20.0, 90.0, 260.0]))
def test_labels_lie_neither_on_each_other_nor_on_nodes(graph, width) -> None:
    found = laid_out(*graph)
    labels = rectangles(found, width)
    assert not any(overlap(a, b) for a, b in itertools.combinations(labels, 2))
    boxes = [
        (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        for x, y, w, h in zip(found.x, found.y, found.widths, found.heights, strict=True)
    ]
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
    corners = shelves(sizes, 10.0)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(corners, sizes, strict=True)]
    for index, a in enumerate(boxes):
        for b in boxes[:index]:
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]
    width, height = max(one[2] for one in boxes), max(one[3] for one in boxes)
    assert 0.5 < width / height < 4
