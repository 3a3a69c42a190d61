from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.graph.folding.fold import folded
from enginescope.analysis.graph.folding.levels import left_out
from enginescope.analysis.graph.layout.node_places import against_flow
from enginescope.analysis.graph.plan_graph import GraphEdge, GraphNode, PlanGraph, plan_graph
from enginescope.analysis.graph.plan_graph_part import queried
from enginescope.records.plan.plan import Layer
from tests.analysis.graph.test_plan_graph import edges, made

DAGS = st.integers(1, 9).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))),
        st.sets(st.integers(0, count - 1)),
    )
)


def dag(count: int, pairs: set[tuple[int, int]]) -> PlanGraph:
    layers = [Layer(index=one, name=str(one)) for one in range(count)]
    return PlanGraph(
        name="g",
        nodes=tuple(
            GraphNode(id=one.index, kind="layer", name=one.name, layer=one) for one in layers
        ),
        edges=tuple(GraphEdge(source=a, target=b) for a, b in sorted(pairs) if a < b),
    )


def reach(count: int, pairs: list[tuple[int, int]]) -> set[tuple[int, int]]:
    found = set(pairs)
    for middle in range(count):
        found |= {(a, d) for a, b in found if b == middle for c, d in found if c == middle}
    return found


@given(DAGS)
def test_ways_between_kept_nodes_stay_and_none_leads_back(given_) -> None:
    count, pairs, kept = given_
    graph = dag(count, pairs)
    whole = left_out(graph, kept)
    small = folded(graph, whole)
    ends = [(one.source, one.target) for one in small.edges]
    sources, targets = [a for a, _ in ends], [b for _, b in ends]
    assert not any(against_flow(len(small.nodes), sources, targets))
    assert all(a < b for a, b in ends)
    place = {one: at for at, one in enumerate(whole.members) if isinstance(one, int)}
    assert place.keys() == kept
    before = reach(count, [(one.source, one.target) for one in graph.edges])
    after = reach(len(small.nodes), ends)
    for a in kept:
        for b in kept:
            if (a, b) in before:
                assert (place[a], place[b]) in after
    assert sum(len(one.held_layers) for one in small.nodes) == count


def test_layers_around_a_kept_one_and_tensors_alone_are_no_group() -> None:
    """A skip connection joins what lies before and behind; as one box it would be a cycle."""
    plan = made(("a", "x", "t"), ("k", "t", "u"), ("b", "t u", "v"), ("c", "v", "y"), io="x > y")
    graph = plan_graph(plan)
    small = folded(graph, left_out(graph, queried(graph, ["^k$"])))
    assert [node.name for node in small.nodes] == ["x", "left out", "k", "left out", "y"]
    assert [len(node.layers) for node in small.nodes] == [0, 1, 0, 2, 0]
    assert edges(small) == [
        "k>left out",
        "left out>k",
        "left out>left out",
        "left out>y",
        "x>left out",
    ]
    plan = made(("w1", "x", "t"), ("r", "t", "u"), ("w2", "u", "t"), ("e", "t", "y"), io="x > y")
    graph = plan_graph(plan)
    layers = {node.id for node in graph.nodes if node.layer}
    small = folded(graph, left_out(graph, layers))
    assert [node.name for node in small.nodes].count("t") == 2
