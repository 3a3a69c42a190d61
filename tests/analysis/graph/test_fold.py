from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.graph.folding.fold import Run, fold, folded, repeats
from enginescope.analysis.graph.folding.levels import (
    ENTRY,
    EXIT,
    Group,
    Levels,
    levels,
    module_path,
    shared_path,
)
from enginescope.analysis.graph.plan_graph import PlanGraph, plan_graph
from enginescope.core.errors import UsageError
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import IOTensor, Layer, Plan
from enginescope.records.tensor import DataType, Tensor
from tests.analysis.card_plans import layer
from tests.analysis.graph.test_plan_graph import made


def transformer(blocks: int, name: str = "/layers.{}/{}") -> Plan:
    """Blocks of five layers with a residual, an input before them and a head after them."""
    layers: list[Layer] = []

    def put(kind: str, reads: list[str], write: str, block: int = -1, width: int = 64) -> str:
        inputs = [Tensor(name=one, dtype=DataType.FP16) for one in reads]
        output = Tensor(name=write, dtype=DataType.FP16, shape=(1, width))
        called = name.format(block, kind.title()) if block >= 0 else kind
        layers.append(layer(len(layers), called, kind, inputs, [output]))
        return write

    flow = put("embed", ["x"], "e")
    for block in range(blocks):
        mixed = put("attention", [put("norm", [flow], f"n{block}", block)], f"a{block}", block)
        gelu = put("gelu", [put("gemm", [mixed], f"u{block}", block, 256)], f"g{block}", block, 256)
        flow = put("add", [gelu, flow], f"f{block}", block)
    put("head", [flow], "y", width=10)
    ends = (("x", "input"), ("y", "output"))
    io = tuple(IOTensor(tensor=Tensor(name=one), mode=mode) for one, mode in ends)
    return Plan(name="t", layers=tuple(layers), io=io)


def shown(graph: PlanGraph, group: Group | None) -> list[str]:
    return [
        graph.nodes[one].name
        if isinstance(one, int)
        else f"[{one.name}{f' × {one.copies}' if one.copies else ''}]"
        for one in group.members
    ]


def check_sound(graph: PlanGraph, whole: Group | None) -> None:
    """Every node is in it once, and folding makes no cycle that was not there."""
    assert whole is not None
    assert sorted(whole.nodes()) == [node.id for node in graph.nodes]
    for edge in folded(graph, whole).edges:
        assert edge.source <= edge.target or edge.is_carried


def test_a_transformer_folds_to_one_block_of_its_modules_and_layers() -> None:
    graph = plan_graph(transformer(32, name="n_{}_{}"))
    whole = fold(graph, "block")
    assert shown(graph, whole) == ["x", "embed", "[n_0_Norm … n_31_Add × 32]", "head", "y"]
    check_sound(graph, whole)
    repeat = next(whole.groups())
    assert {one.kind for one in repeat.members if isinstance(one, Group)} == {"block"}
    assert [len(tuple(one.nodes())) for one in repeat.groups()] == [5] * 32
    assert fold(graph, "module") is None
    graph = plan_graph(transformer(6))
    whole = fold(graph, "module")
    blocks = [f"[layers.{block}]" for block in range(6)]
    assert shown(graph, whole) == ["x", "embed", *blocks, "head", "y"]
    check_sound(graph, whole)
    graph = plan_graph(transformer(32))
    whole = fold(graph, "module")
    assert shown(graph, whole) == ["x", "embed", "[layers.0 … layers.31 × 32]", "head", "y"]
    check_sound(graph, whole)
    assert next(whole.groups()).members[3].path == "layers.3"
    group = folded(graph, whole).nodes[2]
    assert (group.kind, group.name) == ("group", "layers.0 … layers.31, 32 blocks")
    assert len(group.layers) == 160
    with pytest.raises(UsageError, match="branch"):
        fold(plan_graph(transformer(1)), "branch")


@pytest.mark.parametrize(
    ("layers", "groups"),
    [
        # b hangs between two layers of m: one group of m would feed itself through b.
        ("/m/a x 1, /m/a2 1 2, /b/b 2 3, /b/b2 3 4, /m/c 4 2 5, /m/c2 5 y", "[m] [b] [m]"),
        ("/l/a x l1, /r/a x r1, /l/b l1 l2, /r/b r1 r2, /join l2 r2 y", "[l] [r] /join"),
    ],
    ids=["a module left and entered again", "branches that run in turns"],
)
def test_a_module_is_as_many_groups_as_it_needs(layers: str, groups: str) -> None:
    parts = [one.split() for one in layers.split(", ")]
    rows = [(name, " ".join(reads), write) for name, *reads, write in parts]
    graph = plan_graph(made(*rows, io="x>y"))
    whole = fold(graph, "module")
    assert shown(graph, whole) == ["x", *groups.split(), "y"]
    check_sound(graph, whole)


def test_names_without_modules_are_taken_in_and_a_loop_stays_a_loop() -> None:
    layers = ("/m/n/a", "x", "1"), ("copy_1", "1", "2"), ("/m/n/b", "2", "3"), ("end", "3", "y")
    graph = plan_graph(made(*layers, io="x>y"))
    assert shown(graph, fold(graph, "module")) == ["x", "[m/n]", "end", "y"]
    plan = made(("/m/a", "x s", "1"), ("/m/b", "1", "2"), ("/n/a", "2", "s"), ("/n/b", "s", "y"))
    graph = plan_graph(plan)
    assert any(edge.is_carried for edge in graph.edges)
    whole = fold(graph, "module")
    check_sound(graph, whole)
    assert [edge.is_carried for edge in folded(graph, whole).edges if edge.source > edge.target]


@pytest.mark.parametrize("folding", ["module", "block"])
def test_real_plans_fold_without_cycles(folding: str, shared: Path) -> None:
    graph = plan_graph(made(("a", "x", "1"), ("b", "1", "2"), ("c", "2", "y"), io="x>y"))
    assert fold(graph, folding) is None
    whole = fold(graph, "none")
    assert whole is not None
    assert folded(graph, whole) == graph
    paths = sorted(shared.glob("*/*.graph.json"))
    assert paths
    for path in paths:
        graph = plan_graph(parse_plan(path.read_bytes(), path.name)[0])
        whole = fold(graph, folding)
        if whole is not None:
            check_sound(graph, whole)
            (found,) = levels(graph, whole)
            assert len(found.groups) == len(found.parents) == 1 + sum(1 for _ in whole.groups())
            members = found.members[found.members >= 0]
            assert sorted(members.tolist()) == list(range(len(graph.nodes)))


def test_levels_lift_edges_to_where_they_are_seen() -> None:
    graph = plan_graph(transformer(3))
    whole = fold(graph, "module")
    assert whole is not None
    (found,) = levels(graph, whole)
    assert found.parents.tolist() == [-1, 0, 0, 0]
    # x, embed, three blocks, head, y: a chain, though two layers of each block read the flow.
    assert seen(found, 0) == [(at, at + 1) for at in range(6)]
    inside = [(at, at + 1) for at in range(4)]
    assert sorted(seen(found, 2)) == sorted([(ENTRY, 0), (ENTRY, 4), *inside, (4, EXIT)])
    assert set(found.edges.tolist()) <= set(range(len(graph.edges)))


def seen(found: Levels, group: int) -> list[tuple[int, int]]:
    """Return the ends of the edges inside a group."""
    inside = slice(*found.edge_starts[group : group + 2])
    return list(zip(found.sources[inside].tolist(), found.targets[inside].tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("/blocks.3/attn/qkv/MatMul", "blocks.3 attn qkv"),
        ("/layer1/layer1.0/conv1/Conv + /layer1/layer1.0/relu/Relu", "layer1 layer1.0"),
        ("PWN(/neck/act/Relu)", "neck act"),
        ("PWN(PWN(/a/b/Sigmoid), PWN(/a/c/Mul))", "a"),
        ("{ForeignNode[/a/b/Shape.../a/b/c/Add]}", "a b"),
        ("Reformatting CopyNode for Input Tensor 0 to /conv1/Conv + /relu/Relu", ""),
        ("Reformatting CopyNode for Output Tensor 0 to /a/b/Conv", "a b"),
        (
            "features.3.conv.0.0.weight + QuantizeLinear_104 + Conv_108",
            "features features.3 conv conv.0 conv.0.0",
        ),
        ("layer1.0.conv2.weight + QuantizeLinear_32 + Conv_34", "layer1 layer1.0 conv2"),
        ("/Conv", ""),
    ],
)
def test_names_with_modules(name: str, path: str) -> None:
    assert module_path(Layer(index=0, name=name)) == tuple(path.split())


@pytest.mark.parametrize("name", ["Conv_12", "kgen_myl0_3", "onnx::Conv_239", ""])
def test_names_without_modules(name: str) -> None:
    assert module_path(Layer(index=0, name=name)) is None


def test_onnx_nodes_go_before_the_name_and_a_name_of_slashes_stays_shallow() -> None:
    layer = Layer(index=0, name="__myl_Add_myl1_2", onnx_nodes=("/a/b/Add", "/a/b/c/Mul"))
    assert module_path(layer) == ("a", "b")
    path = module_path(Layer(index=0, name="/x" * 5_000))
    assert path is not None
    assert len(path) <= 16
    assert shared_path([("a", "b", "c"), ("a", "b"), ("a", "b", "d")]) == ("a", "b")
    assert shared_path([("a",), ("b",)]) == ()


def of(text: str, cuts: list[int] | None = None) -> list[tuple[int, int, int]]:
    return [(one.start, one.period, one.copies) for one in repeats([*map(ord, text)], cuts)]


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("", []),
        ("abcdefg", []),
        ("xabcabcabcy", [(1, 3, 3)]),
        ("aaaaaa", [(0, 1, 6)]),
        ("ababab", [(0, 2, 3)]),
        ("abab", []),  # only two would be spared
        ("xabcabcabcyyyyyz", [(1, 3, 3), (10, 1, 5)]),
        ("aabaabaab", [(0, 3, 3)]),
    ],
)
def test_runs(text: str, runs: list[tuple[int, int, int]]) -> None:
    assert of(text) == runs


def test_it_begins_where_least_is_cut_whatever_comes_often() -> None:
    text = "abcd" * 5 + "ab"
    assert of(text) == [(0, 4, 5)]
    cuts = [1 if at % 4 == 2 else 3 for at in range(len(text) + 1)]
    assert (of(text, cuts), of("aabab" * 40)) == ([(2, 4, 5)], [(0, 5, 40)])


@given(st.lists(st.integers(0, 2), max_size=60))
def test_runs_do_not_overlap_and_do_repeat(signature: list[int]) -> None:
    end = 0
    for run in repeats(signature):
        assert run.start >= end
        end = run.stop
        copies = [signature[at:][: run.period] for at in range(run.start, run.stop, run.period)]
        assert copies == [copies[0]] * run.copies
        assert run.copies >= 2
    assert end <= len(signature)


def test_many_small_runs_stay_cheap() -> None:
    signature = np.repeat(np.random.default_rng(1).integers(0, 50, 20_000), 5)[:50_000].tolist()
    found = repeats(signature)
    assert len(found) > 5_000
    assert found[0] == Run(start=0, period=1, copies=5)
