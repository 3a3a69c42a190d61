from __future__ import annotations

from graphlib import TopologicalSorter

from hypothesis import given

from enginescope.analysis.graph.layout.node_places import against_flow
from tests.analysis.graph.layout.graphs import graphs


@given(graphs())
def test_no_cycle_is_left(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    turned = against_flow(count, [a for a, _ in edges], [b for _, b in edges])
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for (a, b), turn in zip(edges, turned, strict=True):
        if a != b:
            sorter.add(*((a, b) if turn else (b, a)))
    sorter.prepare()  # raises CycleError


@given(graphs(acyclic=True))
def test_nothing_is_turned_without_need(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    flipped = [(count - 1 - a, count - 1 - b) for a, b in edges]
    for one in (edges, flipped):
        assert not any(against_flow(count, [a for a, _ in one], [b for _, b in one]))


def test_the_edge_that_goes_back_is_turned() -> None:
    assert against_flow(4, [0, 1, 2, 2], [1, 2, 1, 3]) == [False, False, True, False]
    assert against_flow(1, [0], [0]) == [False]
