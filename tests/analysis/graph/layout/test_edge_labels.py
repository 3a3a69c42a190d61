from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.graph.layout.layered import Boxes, LaidOut, lay_out
from enginescope.render.graph.write.svg import LABEL_HEIGHT, place_labels

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


def test_a_label_is_beside_the_begin_of_its_edge() -> None:
    found = laid_out(2, [(0, 1)])
    ((edge, x, y),) = place_labels(found, {0: 80.0}, LABEL_HEIGHT)
    line_x, line_y = found.route(0)[0]
    assert edge == 0
    assert x - 40 > line_x
    assert 0 < y - line_y < 20


def test_only_what_is_asked_for_has_a_label() -> None:
    found = laid_out(3, [(0, 1), (1, 2)])
    assert [edge for edge, _, _ in place_labels(found, {1: 30.0}, LABEL_HEIGHT)] == [1]
    assert list(place_labels(laid_out(1, []), {}, LABEL_HEIGHT)) == []
