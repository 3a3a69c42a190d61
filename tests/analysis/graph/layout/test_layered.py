from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from enginescope.analysis.graph.layout import node_places
from enginescope.analysis.graph.layout.layered import Boxes, Spacing, lay_out
from tests.analysis.graph.layout.graphs import assert_sound, boxes, graphs


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_any_graph_is_drawn_soundly(graph: tuple[int, list[tuple[int, int]]]) -> None:
    given_boxes = boxes(*graph)
    assert_sound(given_boxes, lay_out(given_boxes))


def test_the_same_every_time() -> None:
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (3, 4)]
    one, two = lay_out(boxes(5, edges)), lay_out(boxes(5, edges))
    assert np.array_equal(one.x, two.x)
    assert np.array_equal(one.points, two.points)


def test_a_chain_is_upright() -> None:
    laid_out = lay_out(boxes(4, [(0, 1), (1, 2), (2, 3)]))
    assert laid_out.ranks.tolist() == [0, 1, 2, 3]
    assert len(set(laid_out.x.tolist())) == 1
    assert [len(laid_out.route(edge)) for edge in range(3)] == [2, 2, 2]
    assert len(set(laid_out.points[:, 0].tolist())) == 1


def test_a_residual_passes_beside_its_branch() -> None:
    laid_out = lay_out(boxes(4, [(0, 1), (1, 2), (2, 3), (0, 3)]))
    route = laid_out.route(3)
    for node in (1, 2):
        inside = abs(route[:, 0] - laid_out.x[node]) < laid_out.widths[node] / 2
        beside = abs(route[:, 1] - laid_out.y[node]) < laid_out.heights[node] / 2
        assert not (inside & beside).any()
    assert laid_out.crossings == 0


def test_a_cycle_has_a_back_edge() -> None:
    laid_out = lay_out(boxes(3, [(0, 1), (1, 2), (2, 0)]))
    assert laid_out.is_back.tolist() == [False, False, True]
    start, *_, end = laid_out.route(2).tolist()
    assert start[1] > end[1]


def test_a_loop_stays_beside_its_node() -> None:
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


def test_parts_lie_side_by_side() -> None:
    laid_out = lay_out(boxes(4, [(0, 1), (2, 3)]), Spacing(parts=100.0))
    right = laid_out.x[:2].max() + laid_out.widths[:2].max() / 2
    assert laid_out.x[2:].min() - laid_out.widths[2:].max() / 2 >= right + 99
    assert laid_out.ranks.tolist() == [0, 1, 0, 1]


def test_nothing_to_draw() -> None:
    laid_out = lay_out(boxes(0, []))
    assert (laid_out.width, laid_out.height, len(laid_out.points)) == (0.0, 0.0, 0)


def test_wrong_arrays_are_told() -> None:
    with pytest.raises(ValueError, match="unknown node"):
        lay_out(boxes(2, [(0, 2)]))
    good = boxes(2, [(0, 1)])
    with pytest.raises(ValueError, match="as many"):
        lay_out(Boxes(widths=good.widths, heights=good.heights[:1], edges=good.edges))
