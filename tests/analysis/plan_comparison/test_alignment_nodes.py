import pytest

from enginescope.analysis.plan_comparison.alignment_matching import (
    MAX_GROUP,
    MAX_LAYERS_OF_NODE,
    match_names,
    match_nodes,
    numbers_agree,
)
from enginescope.analysis.plan_comparison.alignment_side import Matching, Side
from enginescope.records.plan.plan import EXECUTED, Layer, Plan
from enginescope.records.tensor import Tensor


def side(
    *nodes: tuple[str, ...], names: tuple[str, ...] = (), widths: tuple[int, ...] = ()
) -> Side:
    layers = tuple(
        Layer(
            index=index,
            name=names[index] if names else f"/own{index}/{id(nodes)}",
            type="kgen",
            onnx_nodes=held,
            outputs=(Tensor(name=f"t{index}", shape=(1, widths[index] if widths else 4)),),
        )
        for index, held in enumerate(nodes)
    )
    return Side(Plan(name="p", layers=layers))


def groups(a: Side, b: Side, *, numbers: bool = True) -> list[tuple[list[int], list[int], float]]:
    found = Matching(a, b)
    match_nodes(found, numbers=numbers)
    return [(one.a, one.b, one.score) for one in found.groups]


def test_split_fused_and_equal_nodes() -> None:
    a = side(("/a", "/b"), ("/c",), ("/d",))
    b = side(("/a",), ("/b",), ("/c", "/d"))
    assert groups(a, b) == [([0], [0, 1], 1.0), ([1, 2], [2], 1.0)]
    a = side(("/a", "/b", "/shared"), ("/c", "/d"))
    b = side(("/shared", "/c", "/d"))
    assert groups(a, b) == [([1], [0], pytest.approx(2 / 3))]
    a = side(("/norm",), ("/norm",), widths=(4, 8))
    b = side(("/norm",), ("/norm",), widths=(4, 8))
    assert groups(a, b) == [([0], [0], 1.0), ([1], [1], 1.0)]
    assert groups(a, side(("/norm",), ("/norm",), widths=(5, 9))) == [([0, 1], [0, 1], 1.0)]
    again = ("/again", "/again")
    assert groups(side((), (), names=again), side((), names=("/again",))) == []


def test_a_node_of_many_layers_and_a_group_of_many_say_nothing() -> None:
    many = MAX_LAYERS_OF_NODE + 1
    a = side(*((f"/{one}", "/mask") for one in range(many)))
    b = side(("/3",), ("/mask",))
    assert groups(a, b) == [([3], [0], 1.0)]
    count = MAX_GROUP + 1
    hub = tuple(f"/{one}" for one in range(count))
    a = side(*((one,) for one in hub), hub)
    assert groups(a, side(hub)) == [(list(range(count + 1)), [0], 1.0)]
    b = side(*((one,) for one in hub), hub, hub)
    assert groups(a, b) == []


def test_numbers_count_only_where_they_agree() -> None:
    a, b = side(("Conv_1", "/b")), side(("Conv_1", "/c", "/d"))
    assert groups(a, b, numbers=False) == []
    assert groups(a, side(("Conv_1",)), numbers=False) == []
    assert groups(a, side(("Conv_1",))) == [([0], [0], 0.5)]
    a = side((), names=("Conv_0 + Relu_1",), widths=(4,))
    assert numbers_agree(a, side((), names=("Conv_0 + Relu_1",), widths=(9,)))
    assert not numbers_agree(a, side((), names=("Conv_0 + Relu_2",), widths=(9,)))


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
    a = side(*nodes, names=("Conv_0", "Conv_1", "Conv_2"), widths=(4, 5, 6))
    assert numbers_agree(a, side(*nodes, names=names, widths=widths)) is agree


@pytest.mark.parametrize(("width", "score"), [(4, 1.0), (5, 0.9)])
def test_names(width: int, score: float) -> None:
    found = Matching(
        side((), (), names=("/x", "/again"), widths=(4, 4)),
        side((), (), (), names=("/again", "/again", "/x"), widths=(4, 4, width)),
    )
    match_names(found, numbers=True)
    assert [(one.a, one.b, one.score) for one in found.groups] == [([0], [2], score)]


def test_numbers_of_one_executed_model_count_whatever_was_fused() -> None:
    """OpenVINO and ONNX Runtime fused BERT's numbered nodes otherwise, and 3 % of them paired."""

    def executed(width: int, *fused: tuple[str, ...]) -> Side:
        layers = tuple(
            Layer(
                index=at,
                name=f"kernel{at}",
                type="Conv",
                onnx_nodes=nodes,
                outputs=(Tensor(name=f"t{at}", shape=(1, width)),),
            )
            for at, nodes in enumerate(fused)
        )
        return Side(Plan(name="net", layers=layers, source_schema=EXECUTED))

    a = executed(4, ("Conv_0", "Relu_1"), ("Conv_2",), ("Relu_3",))
    assert numbers_agree(a, executed(8, ("Conv_0",), ("Relu_1", "Conv_2"), ("Relu_3",)))
    assert not numbers_agree(a, executed(8, ("Conv_0",), ("Relu_1",), ("Conv_2",)))
