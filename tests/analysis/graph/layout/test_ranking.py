from __future__ import annotations

from hypothesis import given

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
def test_every_edge_leads_down(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    rank = ranked(count, edges)
    assert all(rank[target] > rank[source] for source, target in edges)
    assert min(rank) == 0


def test_a_late_constant_stands_by_its_reader() -> None:
    # 0 -> 1 -> 2 -> 3, and 4 -> 5 -> 3: what feeds 3 alone need not stand at the top.
    assert ranked(6, [(0, 1), (1, 2), (2, 3), (4, 5), (5, 3)])[4:] == [1, 2]


def test_an_early_end_stays_by_its_writer() -> None:
    assert ranked(4, [(0, 1), (1, 2), (0, 3)])[3] == 1
