from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from enginescope.analysis.graph.layout import layered
from enginescope.analysis.graph.layout.layered import ASPECT, LaidOut, Spacing, lay_out
from tests.analysis.graph.layout.graphs import assert_sound, boxes, graphs


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


def test_a_low_drawing_stays_one_column() -> None:
    given_boxes = boxes(6, [(node, node + 1) for node in range(5)])
    assert lay_out(given_boxes).borders == ()


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
def test_any_graph_can_be_wrapped(
    monkeypatch: pytest.MonkeyPatch, graph: tuple[int, list[tuple[int, int]]]
) -> None:
    monkeypatch.setattr(layered, "LEAST_HEIGHT", 0.0)
    given_boxes = boxes(*graph)
    found = lay_out(given_boxes, Spacing(aspect=6.0))
    assert_sound(given_boxes, found)
    assert np.isfinite(found.points).all()
    assert found.points.min(initial=0.0) >= 0
