import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.graph.folding.fold import folded
from enginescope.analysis.graph.folding.levels import left_out
from enginescope.analysis.graph.layout.node_places import against_flow
from enginescope.analysis.graph.plan_graph import Flow, GraphEdge, GraphNode, PlanGraph, plan_graph
from enginescope.analysis.graph.plan_graph_part import (
    matching,
    named,
    neighbourhood,
    parse_beam,
    queried,
)
from enginescope.core.errors import UsageError
from enginescope.records.plan.plan import IOTensor, Layer, Plan
from enginescope.records.tensor import DataType, Tensor
from tests.analysis.card_plans import layer
from tests.formats import plans


def made(*layers: tuple[str, str, str], io: str = "", kind: str = "kgen") -> Plan:
    """Layers as ``(name, reads, writes)``; a name that starts with noop is one."""
    given, _, taken = io.partition(">")

    def tensors(names: str) -> list[Tensor]:
        return [Tensor(name=one, dtype=DataType.FP16) for one in names.split()]

    ends = [(one, "input") for one in given.split()] + [(one, "output") for one in taken.split()]
    return Plan(
        name="p",
        layers=tuple(
            layer(at, name, "NoOp" if name.startswith("noop") else kind, tensors(a), tensors(b))
            for at, (name, a, b) in enumerate(layers)
        ),
        io=tuple(IOTensor(tensor=Tensor(name=one), mode=mode) for one, mode in ends),
    )


def edges(graph: PlanGraph, kind: str = "data") -> list[str]:
    def label(node: int) -> str:
        one = graph.nodes[node]
        return one.name if one.generation is None else f"{one.name}.{one.generation}"

    return sorted(
        f"{label(e.source)}>{label(e.target)}{'*' if e.is_carried else ''}"
        for e in graph.edges
        if e.kind == kind
    )


def test_a_plan_of_every_version() -> None:
    graph = plan_graph(plans.parsed(plans.tensorrt_8_4()))
    assert [(one.kind, one.name) for one in graph.nodes] == [
        ("input", "image"),
        ("layer", "copy for conv"),
        ("layer", "conv + relu"),
        ("output", "flat"),  # written by a no-op, which is folded
    ]
    assert [one.id for one in graph.nodes] == [0, 1, 2, 3]
    assert edges(graph) == ["conv + relu>flat", "copy for conv>conv + relu", "image>copy for conv"]
    packed = next(one.tensor for one in graph.edges if one.source == 1)
    assert (packed.name, packed.dtype) == ("packed", DataType.FP16)
    for version in (plans.tensorrt_8_2, plans.tensorrt_10, plans.tensorrt_11):
        graph = plan_graph(plans.parsed(version()))
        assert "layer" in {one.kind for one in graph.nodes}
        assert not [one for one in graph.nodes if one.name.startswith("dummy_shape_call")]


def test_layers_with_one_name_stay_apart_and_values_are_carried() -> None:
    graph = plan_graph(made(("a", "x", "m"), ("a", "m", "y"), io="x > y"))
    assert [one.name for one in graph.nodes] == ["x", "a", "a", "y"]
    assert {(one.source, one.target) for one in graph.edges} == {(0, 1), (1, 2), (2, 3)}
    graph = plan_graph(made(("a", "x", "y"), io="x unused > y"))
    assert ("input", "unused") in {(one.kind, one.name) for one in graph.nodes}
    with pytest.raises(UsageError, match="no such choice"):
        plan_graph(made(), tensors="some")
    graph = plan_graph(made(("body", "x state", "new"), ("keep", "new", "state"), io="x >"))
    assert edges(graph) == ["body>keep", "keep>body*", "x>body"]
    graph = plan_graph(made(("r", "x", "u"), ("w", "u", "x"), io="x > x"))
    assert edges(graph) == ["r>w", "w>x.1", "x.0>r"]
    assert [one.kind for one in graph.nodes if one.name == "x"] == ["input", "output"]


def test_a_region_written_again_has_a_node_per_use() -> None:
    graph = plan_graph(
        made(("w1", "x", "t"), ("r1", "t", "u"), ("w2", "x", "t"), ("r2", "t u", "y"), io="x > y")
    )
    assert edges(graph) == ["r1>r2", "r2>y", "t.0>r1", "t.1>r2", "w1>t.0", "w2>t.1", "x>w1", "x>w2"]
    assert edges(graph, "reuse") == ["t.0>t.1"]
    graph = plan_graph(made(("w", "x", "t"), ("in place", "t", "t"), ("r", "t", "y"), io="x > y"))
    assert edges(graph)[:2] == ["in place>t.1", "r>y"]
    assert "t.0>in place" in edges(graph)
    assert edges(graph, "reuse") == []
    graph = plan_graph(made(("then", "x", "t"), ("else", "x", "t"), ("r", "t", "y"), io="x > y"))
    assert edges(graph) == ["else>r", "r>y", "then>r", "x>else", "x>then"]


def test_many_writers_and_layers_without_tensors_are_tied_once() -> None:
    writers = [(f"w{i}", "x", "t") for i in range(9)]
    graph = plan_graph(made(*writers, *[(f"r{i}", "t", f"u{i}") for i in range(9)], io="x >"))
    assert len(graph.edges) == 9 + 9 + 9
    assert [one.name for one in graph.nodes if one.kind == "tensor"] == ["t"]
    graph = plan_graph(made(("a", "x", "t"), ("station", "", ""), ("b", "t", "y"), io="x > y"))
    assert edges(graph, "order") == ["a>station", "station>b"]
    assert edges(plan_graph(plans.parsed(plans.names_only())), "order") == ["conv + relu>head"]


def test_no_ops_are_folded_through_chains_and_joints() -> None:
    ends = ("a", "x", "s"), ("b", "x", "t"), ("c", "v", "y")
    idle = ("noop 1", "s t", "u"), ("noop 2", "u", "v"), ("noop 3", "x", "z"), ("noop 4", "v", "w")
    graph = plan_graph(made(*ends[:2], *idle[:2], ends[2], *idle[2:], io="x > y z w"))
    assert edges(graph) == ["a>c", "a>w", "b>c", "b>w", "c>y", "x>a", "x>b", "x>z"]
    graph = plan_graph(
        made(("w1", "x", "t"), ("noop", "t", "u"), ("w2", "x", "t"), ("r", "u", "y"), io="x > y")
    )
    assert "t.0>r" in edges(graph)
    assert "t.1>r" not in edges(graph)


def test_constants_are_shown_when_asked_for() -> None:
    plan = plans.parsed(plans.tensorrt_10())
    assert "constant" not in {one.kind for one in plan_graph(plan).nodes}
    found = [one.name for one in plan_graph(plan, constants=True).nodes if one.kind == "constant"]
    assert found == ["__mye12_dconst", "head_bias_constantHalf"]
    carried = made(("k", "", "w"), io="", kind="Constant")
    assert plan_graph(carried).nodes == ()
    assert [one.kind for one in plan_graph(carried, constants=True).nodes] == ["constant"]


NAMES = st.lists(st.sampled_from("abcdef"), max_size=3, unique=True).map(" ".join)
LAYERS = st.lists(
    st.tuples(st.sampled_from(["work", "noop"]), NAMES, NAMES).map(tuple), max_size=12
)


def test_generations_of_a_region() -> None:
    plan = made(("w", "x", "t"), ("r", "t", "u"), ("w", "x", "t"), io="x >")
    region = Flow(plan, constants=False).regions["t"]
    found = [(one.number, [writer for writer, _ in one.writers], one.is_read) for one in region]
    assert found == [(0, [0], True), (1, [2], False)]


@given(LAYERS)
def test_every_use_is_in_one_generation_and_no_reader_loses_its_writer(layers) -> None:
    plan = made(*layers, io="a b > e f")
    flow = Flow(plan, constants=False)
    uses = [one for region in flow.regions.values() for one in region]
    written = [(place, tensor.name) for one in uses for place, tensor in one.writers]
    assert sorted(written) == sorted(
        (place, tensor.name) for place in flow.kept for tensor in plan.layers[place].outputs
    )
    assert {(at, tensor.name) for one in uses for at, tensor in (*one.readers, *one.carried)} == {
        (place, tensor.name) for place in flow.kept for tensor in plan.layers[place].inputs
    }
    # With every region a node, each read of a written or given tensor has an edge.
    graph = plan_graph(plan, tensors="all")
    into = {edge.target for edge in graph.edges if edge.kind == "data"}
    for generation in uses:
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
    for pattern, why in (("nowhere", "matches"), ("(", "not a regular expression")):
        with pytest.raises(UsageError, match=why):
            matching(GRAPH, pattern)
    assert parse_beam("PWN(Add, Relu),2") == ("PWN(Add, Relu)", 2)
    for wrong in ("conv", ",2", "conv,x", "conv,-1"):
        with pytest.raises(UsageError, match="NODE,RADIUS"):
            parse_beam(wrong)


SMALL = plan_graph(plans.parsed(plans.tensorrt_8_4(), "small"))


def queried_names(*queries: str) -> list[str]:
    return [SMALL.nodes[one].name for one in queried(SMALL, queries)]


@pytest.mark.parametrize(
    ("queries", "wanted"),
    [
        (["type:Reformat"], ["copy for conv"]),
        (["type:convolution"], ["conv + relu"]),
        (["precision:fp16"], ["conv + relu"]),
        (["type:Convolution", "precision:FP16"], ["conv + relu"]),
        (["conv", "type:Reformat"], ["copy for conv"]),
        (["^conv"], ["conv + relu"]),
    ],
)
def test_what_is_meant(queries, wanted) -> None:
    assert queried_names(*queries) == wanted


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (["type:Convolutoin"], "did you mean Convolution"),
        (["precision:FP99x"], "precision 'FP99x'"),
        (["type:Convolution", "precision:FP32"], "matches all of"),
        (["type:Convolution", "("], "not a regular expression"),
        (["absent"], "no node of small matches"),
    ],
)
def test_what_means_nothing(queries, message) -> None:
    with pytest.raises(UsageError) as caught:
        queried_names(*queries)
    assert message in f"{caught.value} {caught.value.hint}"


DAGS = st.integers(1, 9).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))),
        st.sets(st.integers(0, count - 1)),
    )
)


def dag(count: int, pairs: set[tuple[int, int]]) -> PlanGraph:
    nodes = (
        GraphNode(id=at, kind="layer", name=str(at), layer=Layer(index=at, name=str(at)))
        for at in range(count)
    )
    edges = (GraphEdge(source=a, target=b) for a, b in sorted(pairs) if a < b)
    return PlanGraph(name="g", nodes=tuple(nodes), edges=tuple(edges))


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
    skip = ["k>left out", "left out>k", "left out>left out", "left out>y", "x>left out"]
    assert edges(small) == skip
    plan = made(("w1", "x", "t"), ("r", "t", "u"), ("w2", "u", "t"), ("e", "t", "y"), io="x > y")
    graph = plan_graph(plan)
    small = folded(graph, left_out(graph, {node.id for node in graph.nodes if node.layer}))
    assert [node.name for node in small.nodes].count("t") == 2
