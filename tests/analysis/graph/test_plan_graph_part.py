import pytest

from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.analysis.graph.plan_graph_part import matching, named, neighbourhood, parse_beam
from enginescope.core.errors import UsageError
from tests.analysis.graph.test_plan_graph import made

GRAPH = plan_graph(
    made(("one", "x", "a"), ("two", "a", "b"), ("three", "b a", "c"), ("two", "c", "y"), io="x > y")
)


def test_a_neighbourhood_of_any_radius() -> None:
    part = neighbourhood(GRAPH, named(GRAPH, "one"), 1)
    assert [one.name for one in part.graph.nodes] == ["x", "one", "two", "three"]
    assert [one.id for one in part.graph.nodes] == [0, 1, 2, 3]
    assert len(part.graph.edges) == 4
    assert (part.centres, part.whole_nodes, part.cut_edges) == ((1,), 6, 1)
    part = neighbourhood(GRAPH, named(GRAPH, "two"), 0)
    assert [one.name for one in part.graph.nodes] == ["two", "two"]
    assert part.graph.edges == ()
    with pytest.raises(UsageError, match="-1"):
        neighbourhood(GRAPH, (0,), -1)
    part = neighbourhood(GRAPH, (0,), 99)
    assert (part.graph, part.cut_edges) == (GRAPH, 0)


def test_names_indices_patterns_and_beams_select() -> None:
    assert len(named(GRAPH, "two")) == 2
    assert [GRAPH.nodes[one].name for one in named(GRAPH, "#2")] == ["three"]
    with pytest.raises(UsageError) as raised:
        named(GRAPH, "thre")
    assert raised.value.hint == "did you mean three?"
    with pytest.raises(UsageError) as raised:
        named(GRAPH, "quite another")
    assert raised.value.hint is None
    assert [GRAPH.nodes[one].name for one in matching(GRAPH, "^t")] == ["two", "three", "two"]
    assert len(matching(GRAPH, "kgen")) == 4
    with pytest.raises(UsageError, match="matches"):
        matching(GRAPH, "nowhere")
    with pytest.raises(UsageError, match="not a regular expression"):
        matching(GRAPH, "(")
    assert parse_beam("PWN(Add, Relu),2") == ("PWN(Add, Relu)", 2)
    for wrong in ("conv", ",2", "conv,x", "conv,-1"):
        with pytest.raises(UsageError, match="NODE,RADIUS"):
            parse_beam(wrong)
