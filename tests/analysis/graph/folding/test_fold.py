from pathlib import Path

import pytest

from enginescope.analysis.graph.folding.fold import fold, folded
from enginescope.analysis.graph.folding.levels import ENTRY, EXIT, Group, Levels, levels
from enginescope.analysis.graph.plan_graph import PlanGraph, plan_graph
from enginescope.core.errors import UsageError
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import IOTensor, Layer, Plan
from enginescope.records.tensor import DataType, Tensor
from tests.analysis.graph.test_plan_graph import made


def transformer(blocks: int, name: str = "/layers.{}/{}") -> Plan:
    """Blocks of five layers with a residual, an input before them and a head after them."""
    layers: list[Layer] = []
    flow = "x"

    def put(kind: str, reads: list[str], write: str, block: int, width: int = 64) -> str:
        layers.append(
            Layer(
                index=len(layers),
                name=name.format(block, kind.title()) if block >= 0 else kind,
                type=kind,
                inputs=tuple(Tensor(name=one, dtype=DataType.FP16) for one in reads),
                outputs=(Tensor(name=write, dtype=DataType.FP16, shape=(1, width)),),
            )
        )
        return write

    flow = put("embed", [flow], "e", -1)
    for block in range(blocks):
        mixed = put("attention", [put("norm", [flow], f"n{block}", block)], f"a{block}", block)
        gelu = put("gelu", [put("gemm", [mixed], f"u{block}", block, 256)], f"g{block}", block, 256)
        flow = put("add", [gelu, flow], f"f{block}", block)
    put("head", [flow], "y", -1, 10)
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


def check_sound(graph: PlanGraph, whole: Group) -> None:
    """Every node is in it once, and folding makes no cycle that was not there."""
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
    assert whole is not None
    check_sound(graph, whole)
    graph = plan_graph(transformer(32))
    whole = fold(graph, "module")
    assert whole is not None
    group = folded(graph, whole).nodes[2]
    assert (group.kind, group.name, len(group.layers)) == (
        "group",
        "layers.0 … layers.31, 32 blocks",
        160,
    )


def test_many_modules_that_are_alike_are_one_and_there_are_two_foldings() -> None:
    graph = plan_graph(transformer(32))
    whole = fold(graph, "module")
    assert shown(graph, whole) == ["x", "embed", "[layers.0 … layers.31 × 32]", "head", "y"]
    check_sound(graph, whole)
    assert next(whole.groups()).members[3].path == "layers.3"  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="branch"):
        fold(plan_graph(transformer(1)), "branch")


def test_a_module_that_is_left_and_entered_again_is_two_groups() -> None:
    # b hangs between two layers of m: one group of m would feed itself through b.
    plan = made(
        ("/m/a", "x", "1"),
        ("/m/a2", "1", "2"),
        ("/b/b", "2", "3"),
        ("/b/b2", "3", "4"),
        ("/m/c", "4 2", "5"),
        ("/m/c2", "5", "6"),
        io="x>6",
    )
    graph = plan_graph(plan)
    whole = fold(graph, "module")
    assert shown(graph, whole) == ["x", "[m]", "[b]", "[m]", "6"]
    assert whole is not None
    check_sound(graph, whole)


def test_branches_run_in_turns_stay_together() -> None:
    plan = made(
        ("/l/a", "x", "l1"),
        ("/r/a", "x", "r1"),
        ("/l/b", "l1", "l2"),
        ("/r/b", "r1", "r2"),
        ("/join", "l2 r2", "y"),
        io="x>y",
    )
    graph = plan_graph(plan)
    whole = fold(graph, "module")
    assert shown(graph, whole) == ["x", "[l]", "[r]", "/join", "y"]
    assert whole is not None
    check_sound(graph, whole)


def test_names_without_modules_are_taken_in_and_a_loop_stays_a_loop() -> None:
    plan = made(
        ("/m/n/a", "x", "1"),
        ("copy_1", "1", "2"),
        ("/m/n/b", "2", "3"),
        ("end", "3", "y"),
        io="x>y",
    )
    graph = plan_graph(plan)
    assert shown(graph, fold(graph, "module")) == ["x", "[m/n]", "end", "y"]
    plan = made(("/m/a", "x s", "1"), ("/m/b", "1", "2"), ("/n/a", "2", "s"), ("/n/b", "s", "y"))
    graph = plan_graph(plan)
    assert any(edge.is_carried for edge in graph.edges)
    whole = fold(graph, "module")
    assert whole is not None
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
            assert sorted(found.members[found.members >= 0].tolist()) == list(
                range(len(graph.nodes))
            )


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
