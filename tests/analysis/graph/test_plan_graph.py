import pytest

from enginescope.analysis.graph.plan_graph import PlanGraph, plan_graph
from enginescope.core.errors import UsageError
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import IOTensor, Layer, Plan
from enginescope.records.tensor import DataType, Tensor
from tests.formats import plans


def made(*layers: tuple[str, str, str], io: str = "", kind: str = "kgen") -> Plan:
    """Layers as ``(name, reads, writes)``; a name that starts with noop is one."""
    given, _, taken = io.partition(">")

    def layer(index: int, name: str, reads: str, writes: str) -> Layer:
        return Layer(
            index=index,
            name=name,
            type="NoOp" if name.startswith("noop") else kind,
            inputs=tuple(Tensor(name=one, dtype=DataType.FP16) for one in reads.split()),
            outputs=tuple(Tensor(name=one, dtype=DataType.FP16) for one in writes.split()),
        )

    ends = [(one, "input") for one in given.split()] + [(one, "output") for one in taken.split()]
    return Plan(
        name="p",
        layers=tuple(layer(index, *one) for index, one in enumerate(layers)),
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
    plan, _ = parse_plan(plans.encoded(plans.tensorrt_8_4()), "a")
    graph = plan_graph(plan)
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
        plan, _ = parse_plan(plans.encoded(version()), "a")
        graph = plan_graph(plan)
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
    readers = [(f"r{i}", "t", f"u{i}") for i in range(9)]
    graph = plan_graph(made(*writers, *readers, io="x >"))
    assert len(graph.edges) == 9 + 9 + 9
    assert [one.name for one in graph.nodes if one.kind == "tensor"] == ["t"]
    graph = plan_graph(made(("a", "x", "t"), ("station", "", ""), ("b", "t", "y"), io="x > y"))
    assert edges(graph, "order") == ["a>station", "station>b"]
    names, _ = parse_plan(plans.encoded(plans.names_only()), "a")
    assert edges(plan_graph(names), "order") == ["conv + relu>head"]


def test_no_ops_are_folded_through_chains_and_joints() -> None:
    graph = plan_graph(
        made(
            ("a", "x", "s"),
            ("b", "x", "t"),
            ("noop 1", "s t", "u"),
            ("noop 2", "u", "v"),
            ("c", "v", "y"),
            ("noop 3", "x", "z"),
            ("noop 4", "v", "w"),
            io="x > y z w",
        )
    )
    assert edges(graph) == ["a>c", "a>w", "b>c", "b>w", "c>y", "x>a", "x>b", "x>z"]
    graph = plan_graph(
        made(("w1", "x", "t"), ("noop", "t", "u"), ("w2", "x", "t"), ("r", "u", "y"), io="x > y")
    )
    assert "t.0>r" in edges(graph)
    assert "t.1>r" not in edges(graph)


def test_constants_are_shown_when_asked_for() -> None:
    plan, _ = parse_plan(plans.encoded(plans.tensorrt_10()), "a")
    assert "constant" not in {one.kind for one in plan_graph(plan).nodes}
    shown = plan_graph(plan, constants=True)
    assert [one.name for one in shown.nodes if one.kind == "constant"] == [
        "__mye12_dconst",
        "head_bias_constantHalf",
    ]
    carried = made(("k", "", "w"), io="", kind="Constant")
    assert plan_graph(carried).nodes == ()
    assert [one.kind for one in plan_graph(carried, constants=True).nodes] == ["constant"]
