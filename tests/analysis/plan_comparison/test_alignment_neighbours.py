import pytest

from enginescope.analysis.plan_comparison import alignment
from enginescope.analysis.plan_comparison.alignment import untangle
from enginescope.analysis.plan_comparison.alignment_side import Matching, Side
from enginescope.records.plan.plan import Evidence, Plan
from enginescope.records.tensor import Tensor
from tests.analysis.card_plans import layer, tensor

Row = tuple[str, str, tuple[str, ...], str]


def plan(shapes: dict[str, int], *rows: Row) -> Plan:
    """Layers as (name, type, tensors read, tensor written); `shapes`: tensor -> width."""

    def made(name: str) -> Tensor:
        return tensor(name, 1, shapes.get(name, 4), 8)

    layers = tuple(
        layer(index, name, kind, list(map(made, reads)), [made(write)])
        for index, (name, kind, reads, write) in enumerate(rows)
    )
    return Plan(name="p", layers=layers)


def groups(a: Plan, b: Plan) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(one.a, one.b) for one in alignment.align(a, b).pairs]


START: Row = ("/start", "Convolution", ("in",), "s")
END: Row = ("/end", "Convolution", ("v",), "w")
AT_ONCE: Row = ("/end", "Convolution", ("s",), "w")


def test_an_addition_fused_into_the_layer_before_or_behind() -> None:
    add: Row = ("/add", "PointWise", ("u", "s"), "v")
    a = plan({}, START, ("/u", "Convolution", ("s",), "u"), add, END)
    b = plan({}, START, ("/u", "Convolution", ("s", "s"), "v"), END)
    found = alignment.align(a, b)
    assert groups(a, b) == [((0,), (0,)), ((1, 2), (1,)), ((3,), (2,))]
    assert found.pairs[1].evidence is Evidence.NEIGHBOURHOOD
    assert found.pairs[1].score == alignment.SCORE
    assert groups(b, a) == [((0,), (0,)), ((1,), (1, 2)), ((2,), (3,))]
    a = plan({"v": 9}, START, ("/pad", "Slice", ("s",), "v"), END)
    assert groups(a, plan({}, START, AT_ONCE)) == [((0,), (0,)), ((1, 2), (1,))]


def test_neither_shape_fits_and_it_stays_alone() -> None:
    a = plan({"s": 9, "v": 5}, START, ("/odd", "Slice", ("s",), "v"), END)
    assert alignment.align(a, plan({"s": 7}, START, AT_ONCE)).only_a == (1,)
    both: Row = ("/end", "Convolution", ("s", "u"), "w")
    a = plan({}, START, ("/branch", "PointWise", ("s",), "u"), both)
    b = plan({}, START, AT_ONCE)
    assert alignment.align(a, b).only_a == (1,)
    a = plan({}, START, ("copy", "Reformat", ("s",), "v"), END)
    assert groups(a, b) == [((0,), (0,)), ((2,), (1,))]
    assert alignment.align(a, b).only_a == (1,)


def test_what_stands_between_the_same_groups_is_one_group() -> None:
    two = ("x1", "Convolution", ("s",), "u"), ("x2", "Pooling", ("u",), "v")
    a = plan({"u": 9}, START, *two, END)
    b = plan({}, START, ("y9", "ConvActPool", ("s",), "v"), END)
    assert groups(a, b) == [((0,), (0,)), ((1, 2), (1,)), ((3,), (2,))]
    a = plan({"v": 5}, START, ("x1", "MatrixMultiply", ("s",), "v"), END)
    b = plan({"v": 6}, START, ("y9", "kgen", ("s",), "v"), END)
    assert groups(a, b)[1] == ((1,), (1,))
    assert alignment.align(a, b).pairs[1].score == alignment.SCORE_WITHOUT_SHAPES


def test_long_chains_are_no_group_and_a_part_compiled_as_one_layer_is() -> None:
    count = alignment.MAX_CHAIN + 2
    ends = ["s", *(f"u{at}" for at in range(count - 1)), "v"]
    scales = [(f"x{at}", "Scale", (ends[at],), ends[at + 1]) for at in range(count)]
    b = plan({}, START, ("y9", "kgen", ("s",), "v"), END)
    assert alignment.align(plan({}, START, *scales, END), b).only_b == (1,)
    end: Row = ("/end", "Convolution", ("v", "u"), "w")
    kernels = [("x1", "kgen", ("s",), "t"), ("x2", "kgen", ("s",), "u")]
    a = plan({}, START, *kernels, ("x3", "gemm", ("t", "u"), "v"), end)
    b = plan({}, START, ("{ForeignNode[/x1.../x3]}", "Myelin", ("s",), "v"), end)
    assert ((1, 2, 3), (1,)) in groups(a, b)
    assert ((1,), (1, 2, 3)) in groups(b, a)


def test_a_chain_counts_once_though_it_can_be_entered_twice() -> None:
    def two(first: str, kind: str) -> Plan:
        second = (f"{first}2", kind, ("u", "s"), "v")
        return plan({}, START, (f"{first}1", kind, ("s",), "u"), second, END)

    expected = [((0,), (0,)), ((1, 2), (1, 2)), ((3,), (3,))]
    assert groups(two("x", "Scale"), two("y", "kgen")) == expected


def test_shapes_that_are_not_known_do_not_agree() -> None:
    def shapeless(name: str, kind: str) -> Plan:
        rows = [("/start", "in", "s"), (name, "s", "v"), ("/end", "v", "w")]
        layers = tuple(
            layer(at, own, kind, [Tensor(name=read)], [Tensor(name=write)])
            for at, (own, read, write) in enumerate(rows)
        )
        return Plan(name="p", layers=layers)

    found = alignment.align(shapeless("x1", "gemm"), shapeless("y9", "kgen"))
    assert [one.score for one in found.pairs] == [1.0, alignment.SCORE_WITHOUT_SHAPES, 1.0]


MIDDLE: Row = ("/middle", "Convolution", ("s",), "m")
SUM: Row = ("/end", "PointWise", ("p", "q"), "w")
A = Side(plan({}, START, MIDDLE, ("x", "gemm", ("m",), "p"), ("y", "gemm", ("s",), "q"), SUM))
B = Side(plan({}, START, MIDDLE, ("y2", "gemm", ("s",), "q"), ("x2", "gemm", ("m",), "p"), SUM))


def matching(evidence: Evidence, *pairs: tuple[int, int]) -> Matching:
    found = Matching(A, B)
    for one in (0, 1, 4):
        found.add([one], [one], Evidence.NAME, 1.0)
    for one, other in pairs:
        found.add([one], [other], evidence, 0.8)
    return found


def partners(found: Matching) -> dict[int, int]:
    assert [found.groups[found.of_b[one.b[0]]] for one in found.groups] == found.groups
    return {one.a[0]: one.b[0] for one in found.groups if one.a[0] in (2, 3)}


@pytest.mark.parametrize(
    ("evidence", "groups", "expected"),
    [
        (Evidence.STRUCTURE, ((2, 2), (3, 3)), {2: 3, 3: 2}),  # what a layer reads tells it
        (Evidence.STRUCTURE, ((2, 3), (3, 2)), {2: 3, 3: 2}),  # pairs that fit stay
        (Evidence.NAME, ((2, 2), (3, 3)), {2: 2, 3: 3}),  # names are not put in question
    ],
)
def test_equal_layers_are_told_apart_by_what_they_read(evidence, groups, expected) -> None:
    found = matching(evidence, *groups)
    untangle(found)
    assert partners(found) == expected
