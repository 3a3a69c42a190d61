from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.analysis.plan_comparison import alignment_side
from enginescope.analysis.plan_comparison.alignment_matching import (
    MAX_GROUP,
    MAX_LAYERS_OF_NODE,
    match_names,
    match_nodes,
    numbers_agree,
)
from enginescope.records.plan.plan import EXECUTED, Evidence, IOTensor, Layer, Plan
from enginescope.records.tensor import Tensor
from tests.analysis.card_plans import layer, tensor

Read = tuple[str, ...]


def side(*layers: tuple[str, Read, str], inputs: Read = ("in",)) -> alignment_side.Side:
    """Layers as (type, tensors read, tensor written), of one shape."""
    made = tuple(
        layer(at, f"l{at}", kind, [tensor(one, 1, 4, 8) for one in reads], [tensor(write, 1, 4, 8)])
        for at, (kind, reads, write) in enumerate(layers)
    )
    io = tuple(IOTensor(tensor=Tensor(name=one), mode="input") for one in inputs)
    return alignment_side.Side(Plan(name="p", layers=made, io=io))


def test_neighbours_and_a_loop() -> None:
    found = side(("conv", ("in",), "a"), ("conv", ("a",), "b"), ("add", ("b", "a"), "c"))
    assert (found.producers, found.consumers) == ([(), (0,), (1, 0)], [(1, 2), (2,), ()])
    found = side(("conv", ("b", "in"), "a"), ("conv", ("a",), "b"))
    assert found.producers == [(), (0,)]


def test_inert_layers_reformats_and_tensors_written_again_are_read_from_their_writer() -> None:
    found = side(
        ("conv", ("in",), "a"),
        ("NoOp", ("a",), "b"),
        ("Reformat", ("b",), "c"),
        ("conv", ("c",), "d"),
    )
    assert [one.type for one in found.layers] == ["conv", "Reformat", "conv"]
    assert (found.producers, found.consumers) == ([(), (0,), (0,)], [(2,), (2,), ()])
    assert [found.is_reformat(one) for one in range(3)] == [False, True, False]
    found = side(
        ("conv", ("in",), "region"),
        ("conv", ("region",), "a"),
        ("conv", ("a",), "region"),
        ("conv", ("region",), "b"),
    )
    assert found.producers == [(), (0,), (1,), (2,)]


def test_long_runs_of_copies_cost_no_more_than_short_ones() -> None:
    numbers = range(alignment_side.MAX_COPIES + 3)
    copies = [("Reformat", (f"t{at}",), f"t{at + 1}") for at in numbers]
    found = side(*copies, ("conv", (f"t{len(copies)}",), "end"), inputs=("t0",))
    readers = [one for one, below in enumerate(found.consumers) if below]
    assert readers == list(range(3, len(copies)))


def test_keys_leave_out_batch_and_constants_and_have_parameters() -> None:
    def gemm(batch: int | None, *more: str) -> alignment_side.Side:
        reads = [tensor("in", batch, 4, 8), *(Tensor(name=name) for name in more)]
        product = layer(0, "l", "gemm", reads, [tensor("out", batch, 6, 8)])
        io = (IOTensor(tensor=reads[0], mode="input"),)
        return alignment_side.Side(Plan(name="p", layers=(product,), io=io))

    plain, batched = gemm(1), gemm(None, "__mye1_dconst")
    assert (plain.exact, plain.first_in) == (batched.exact, [(4, 8)])
    assert plain.kinds == ["MatrixMultiply"]
    found = alignment_side.Side(Plan(name="p", layers=(Layer(index=0, name="TrainStation1"),)))
    assert (found.exact, found.loose, found.weak) == ([None], [None], [None])

    def kernel(size: int) -> alignment_side.Side:
        io = [tensor("t", 1, 4, 8, 8)]
        window = layer(0, "l", "unknown", io, io, attributes={"Kernel": [size, size]})
        return alignment_side.Side(Plan(name="p", layers=(window,)))

    assert kernel(3).weak == kernel(3).weak
    assert kernel(1).weak != kernel(3).weak


def named(name: str, *nodes: str) -> Layer:
    return Layer(index=0, name=name, onnx_nodes=nodes)


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("/conv", {"/conv"}),
        ("Conv_12 + Relu_13", {"Conv_12", "Relu_13"}),
        ("f.weight + Conv_12 + PWN(Clip_16)", {"f.weight", "Conv_12", "Clip_16"}),
        ("PWN(PWN(/a/Sigmoid), /a/Mul)", {"/a/Sigmoid", "/a/Mul"}),
        ("/a\x1e/b\x1f/c", {"/a", "/b", "/c"}),
        ("/fc/Gemm_myl9_2", {"/fc/Gemm"}),
        (
            "Gemm_1 + (Unnamed Layer* 25) [ElementWise]",
            {"Gemm_1", "(Unnamed Layer* 25) [ElementWise]"},
        ),
        ("Reformatting CopyNode for Input Tensor 0 to /conv", set()),
        ("{ForeignNode[/a.../b]}", set()),
        ("__myl_MulSumAdd_myl24_1", set()),
        ("", set()),
    ],
)
def test_nodes_of_a_name(name: str, nodes: set[str]) -> None:
    assert alignment_side.node_names(named(name)) == nodes
    assert alignment_side.node_names(named(name, "/Flatten")) == {
        "/Flatten"
    }  # metadata goes before the name


@pytest.mark.parametrize(
    ("name", "is_number"),
    [
        ("Conv_12", True),
        ("Identity_380", True),
        ("onnx::Conv_239", True),
        ("(Unnamed Layer* 20) [Constant]", True),
        ("/layer1/conv1", False),
        ("layer1.0.conv1", False),
        ("Conv", False),
    ],
)
def test_mere_numbers(name: str, is_number: bool) -> None:
    assert alignment_side.is_numbered(name) is is_number


@pytest.mark.parametrize(
    ("name", "is_number"),
    [
        ("Conv_12 + Relu_13", True),
        ("Reformatting CopyNode for Input Tensor 0 to Conv_12 + Relu_13", True),
        ("features.0.weight + Conv_12", False),
        ("Reformatting CopyNode for Input Tensor 0 to /conv1/Conv", False),
    ],
)
def test_names_of_mere_numbers(name: str, is_number: bool) -> None:
    assert alignment_side.has_numbered_name(named(name)) is is_number


def matching(size: int) -> alignment_side.Matching:
    layers = tuple(Layer(index=one, name=f"l{one}", type="conv") for one in range(size))
    side = alignment_side.Side(Plan(name="p", layers=layers))
    return alignment_side.Matching(side, side)


def test_groups_and_what_is_free() -> None:
    found = matching(4)
    found.add([2, 1], [0], Evidence.NAME, 1.0)
    assert (found.groups[0].a, found.groups[0].b) == ([1, 2], [0])
    assert (found.of_a, found.of_b) == ([-1, 0, 0, -1], [0, -1, -1, -1])
    assert (found.free_a(), found.free_b()) == ([0, 3], [1, 2, 3])
    assert matching(2).backbone() == []


def rising(run: list[tuple[int, int]]) -> bool:
    return all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(run))


@settings(deadline=None)
@given(st.permutations(range(7)))
def test_the_backbone_is_the_longest_rising_run(order: list[int]) -> None:
    found = matching(len(order))
    for one, other in enumerate(order):
        found.add([one], [other], Evidence.NAME, 1.0)
    backbone = found.backbone()
    pairs = list(enumerate(order))
    assert rising(backbone)
    assert set(backbone) <= set(pairs)
    assert len(backbone) == max(
        size for size in range(8) if any(rising(list(one)) for one in combinations(pairs, size))
    )


def kernels_side(
    *nodes: tuple[str, ...], names: tuple[str, ...] = (), widths: tuple[int, ...] = (), **more
) -> alignment_side.Side:
    layers = tuple(
        layer(
            at,
            names[at] if names else f"/own{at}/{id(nodes)}",
            "kgen",
            [],
            [tensor(f"t{at}", 1, widths[at] if widths else 4)],
            onnx_nodes=held,
        )
        for at, held in enumerate(nodes)
    )
    return alignment_side.Side(Plan(name="p", layers=layers, **more))


def node_groups(
    a: alignment_side.Side, b: alignment_side.Side, *, numbers: bool = True
) -> list[tuple[list[int], list[int], float]]:
    found = alignment_side.Matching(a, b)
    match_nodes(found, numbers=numbers)
    return [(one.a, one.b, one.score) for one in found.groups]


def test_split_fused_and_equal_nodes() -> None:
    a = kernels_side(("/a", "/b"), ("/c",), ("/d",))
    b = kernels_side(("/a",), ("/b",), ("/c", "/d"))
    assert node_groups(a, b) == [([0], [0, 1], 1.0), ([1, 2], [2], 1.0)]
    a = kernels_side(("/a", "/b", "/shared"), ("/c", "/d"))
    b = kernels_side(("/shared", "/c", "/d"))
    assert node_groups(a, b) == [([1], [0], pytest.approx(2 / 3))]
    a = kernels_side(("/norm",), ("/norm",), widths=(4, 8))
    b = kernels_side(("/norm",), ("/norm",), widths=(4, 8))
    assert node_groups(a, b) == [([0], [0], 1.0), ([1], [1], 1.0)]
    b = kernels_side(("/norm",), ("/norm",), widths=(5, 9))
    assert node_groups(a, b) == [([0, 1], [0, 1], 1.0)]
    again = ("/again", "/again")
    assert node_groups(kernels_side((), (), names=again), kernels_side((), names=("/again",))) == []


def test_a_node_of_many_layers_and_a_group_of_many_say_nothing() -> None:
    a = kernels_side(*((f"/{one}", "/mask") for one in range(MAX_LAYERS_OF_NODE + 1)))
    b = kernels_side(("/3",), ("/mask",))
    assert node_groups(a, b) == [([3], [0], 1.0)]
    count = MAX_GROUP + 1
    hub = tuple(f"/{one}" for one in range(count))
    a = kernels_side(*((one,) for one in hub), hub)
    assert node_groups(a, kernels_side(hub)) == [(list(range(count + 1)), [0], 1.0)]
    b = kernels_side(*((one,) for one in hub), hub, hub)
    assert node_groups(a, b) == []


def test_numbers_count_only_where_they_agree() -> None:
    a, b = kernels_side(("Conv_1", "/b")), kernels_side(("Conv_1", "/c", "/d"))
    assert node_groups(a, b, numbers=False) == []
    assert node_groups(a, kernels_side(("Conv_1",)), numbers=False) == []
    assert node_groups(a, kernels_side(("Conv_1",))) == [([0], [0], 0.5)]
    a = kernels_side((), names=("Conv_0 + Relu_1",), widths=(4,))
    assert numbers_agree(a, kernels_side((), names=("Conv_0 + Relu_1",), widths=(9,)))
    assert not numbers_agree(a, kernels_side((), names=("Conv_0 + Relu_2",), widths=(9,)))


@pytest.mark.parametrize(
    ("names", "widths", "agree"),
    [
        (("Conv_0", "Conv_1", "Conv_2"), (4, 5, 6), True),
        (("Conv_0", "Conv_1", "Conv_2"), (5, 6, 4), False),
        (("Conv_7", "Conv_1", "Conv_8"), (4, 5, 6), False),
        (("/a", "/b", "/c"), (4, 5, 6), False),
    ],
)
def test_numbers_agree(names: tuple[str, ...], widths: tuple[int, ...], agree: bool) -> None:
    nodes = ((), (), ())
    a = kernels_side(*nodes, names=("Conv_0", "Conv_1", "Conv_2"), widths=(4, 5, 6))
    assert numbers_agree(a, kernels_side(*nodes, names=names, widths=widths)) is agree


@pytest.mark.parametrize(("width", "score"), [(4, 1.0), (5, 0.9)])
def test_names(width: int, score: float) -> None:
    found = alignment_side.Matching(
        kernels_side((), (), names=("/x", "/again"), widths=(4, 4)),
        kernels_side((), (), (), names=("/again", "/again", "/x"), widths=(4, 4, width)),
    )
    match_names(found, numbers=True)
    assert [(one.a, one.b, one.score) for one in found.groups] == [([0], [2], score)]


def test_numbers_of_one_executed_model_count_whatever_was_fused() -> None:
    """OpenVINO and ONNX Runtime fused BERT's numbered nodes otherwise, and 3 % of them paired."""

    def executed(width: int, *fused: tuple[str, ...]) -> alignment_side.Side:
        return kernels_side(*fused, widths=(width,) * len(fused), source_schema=EXECUTED)

    a = executed(4, ("Conv_0", "Relu_1"), ("Conv_2",), ("Relu_3",))
    assert numbers_agree(a, executed(8, ("Conv_0",), ("Relu_1", "Conv_2"), ("Relu_3",)))
    assert not numbers_agree(a, executed(8, ("Conv_0",), ("Relu_1",), ("Conv_2",)))
