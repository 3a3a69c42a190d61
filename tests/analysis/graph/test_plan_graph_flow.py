from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.graph.plan_graph import Flow, plan_graph
from tests.analysis.graph.test_plan_graph import edges, made

NAMES = st.lists(st.sampled_from("abcdef"), max_size=3, unique=True).map(" ".join)
LAYERS = st.lists(
    st.tuples(st.sampled_from(["work", "noop"]), NAMES, NAMES).map(tuple), max_size=12
)


def test_generations_of_a_region() -> None:
    plan = made(("w", "x", "t"), ("r", "t", "u"), ("w", "x", "t"), io="x >")
    region = Flow(plan, constants=False).regions["t"]
    assert [(one.number, [w for w, _ in one.writers], one.is_read) for one in region] == [
        (0, [0], True),
        (1, [2], False),
    ]


@given(LAYERS)
def test_every_use_is_in_one_generation_and_no_reader_loses_its_writer(layers) -> None:
    plan = made(*layers, io="a b > e f")
    flow = Flow(plan, constants=False)
    written = [
        (place, tensor.name)
        for region in flow.regions.values()
        for one in region
        for place, tensor in one.writers
    ]
    assert sorted(written) == sorted(
        (place, tensor.name) for place in flow.kept for tensor in plan.layers[place].outputs
    )
    reads = {
        (place, tensor.name)
        for region in flow.regions.values()
        for one in region
        for place, tensor in (*one.readers, *one.carried)
    }
    assert reads == {
        (place, tensor.name) for place in flow.kept for tensor in plan.layers[place].inputs
    }
    # With every region a node, each read of a written or given tensor has an edge.
    graph = plan_graph(plan, tensors="all")
    into = {edge.target for edge in graph.edges if edge.kind == "data"}
    for region in flow.regions.values():
        for generation in region:
            if generation.writers or generation.name in ("a", "b"):
                for place, _ in (*generation.readers, *generation.carried):
                    node = next(one.id for one in graph.nodes if one.layer is plan.layers[place])
                    assert node in into


LOOP = (("init", "x", "state"), ("body", "state", "h"), ("recur", "h", "state"), ("last", "h", "y"))


def test_what_is_written_last_and_never_read_goes_into_the_next_iteration() -> None:
    graph = plan_graph(made(*LOOP, io="x > y"))
    assert "state.1>body*" in edges(graph)
    assert "state.0>body" in edges(graph)
    for io in ("x > y state", ""):
        assert not any(one.is_carried for one in plan_graph(made(*LOOP, io=io)).edges)
