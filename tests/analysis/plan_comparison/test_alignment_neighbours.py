from enginescope.analysis.plan_comparison import alignment
from enginescope.records.plan.plan import Evidence, Layer, Plan
from enginescope.records.tensor import Tensor

Row = tuple[str, str, tuple[str, ...], str]


def plan(shapes: dict[str, int], *rows: Row) -> Plan:
    """Layers as (name, type, tensors read, tensor written); `shapes`: tensor -> width."""

    def tensor(name: str) -> Tensor:
        return Tensor(name=name, shape=(1, shapes.get(name, 4), 8))

    layers = tuple(
        Layer(
            index=index,
            name=name,
            type=type_,
            inputs=tuple(map(tensor, reads)),
            outputs=(tensor(write),),
        )
        for index, (name, type_, reads, write) in enumerate(rows)
    )
    return Plan(name="p", layers=layers)


def groups(a: Plan, b: Plan) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(one.a, one.b) for one in alignment.align(a, b).pairs]


START: Row = ("/start", "Convolution", ("in",), "s")


def test_an_addition_fused_into_the_layer_before_or_behind() -> None:
    a = plan(
        {},
        START,
        ("/u", "Convolution", ("s",), "u"),
        ("/add", "PointWise", ("u", "s"), "v"),
        ("/end", "Convolution", ("v",), "w"),
    )
    b = plan(
        {}, START, ("/u", "Convolution", ("s", "s"), "v"), ("/end", "Convolution", ("v",), "w")
    )
    found = alignment.align(a, b)
    assert groups(a, b) == [((0,), (0,)), ((1, 2), (1,)), ((3,), (2,))]
    assert found.pairs[1].evidence is Evidence.NEIGHBOURHOOD
    assert found.pairs[1].score == alignment.SCORE
    assert groups(b, a) == [((0,), (0,)), ((1,), (1, 2)), ((2,), (3,))]
    a = plan({"u": 9}, START, ("/pad", "Slice", ("s",), "u"), ("/end", "Convolution", ("u",), "w"))
    b = plan({}, START, ("/end", "Convolution", ("s",), "w"))
    assert groups(a, b) == [((0,), (0,)), ((1, 2), (1,))]


def test_neither_shape_fits_and_it_stays_alone() -> None:
    a = plan(
        {"s": 9, "u": 5},
        START,
        ("/odd", "Slice", ("s",), "u"),
        ("/end", "Convolution", ("u",), "w"),
    )
    assert alignment.align(
        a, plan({"s": 7}, START, ("/end", "Convolution", ("s",), "w"))
    ).only_a == (1,)
    a = plan(
        {}, START, ("/branch", "PointWise", ("s",), "u"), ("/end", "Convolution", ("s", "u"), "w")
    )
    b = plan({}, START, ("/end", "Convolution", ("s",), "w"))
    assert alignment.align(a, b).only_a == (1,)
    a = plan({}, START, ("copy", "Reformat", ("s",), "u"), ("/end", "Convolution", ("u",), "w"))
    found = alignment.align(a, b)
    assert groups(a, b) == [((0,), (0,)), ((2,), (1,))]
    assert found.only_a == (1,)


def test_what_stands_between_the_same_groups_is_one_group() -> None:
    end: Row = ("/end", "Convolution", ("v",), "w")
    a = plan(
        {"u": 9}, START, ("x1", "Convolution", ("s",), "u"), ("x2", "Pooling", ("u",), "v"), end
    )
    b = plan({}, START, ("y9", "ConvActPool", ("s",), "v"), end)
    assert groups(a, b) == [((0,), (0,)), ((1, 2), (1,)), ((3,), (2,))]
    end: Row = ("/end", "Convolution", ("v",), "w")
    a = plan({"v": 5}, START, ("x1", "MatrixMultiply", ("s",), "v"), end)
    b = plan({"v": 6}, START, ("y9", "kgen", ("s",), "v"), end)
    found = alignment.align(a, b)
    assert groups(a, b)[1] == ((1,), (1,))
    assert found.pairs[1].score == alignment.SCORE_WITHOUT_SHAPES


def test_long_chains_are_no_group_and_a_part_compiled_as_one_layer_is() -> None:
    count = alignment.MAX_CHAIN + 2
    rows = [START]
    rows += [(f"x{n}", "Scale", (f"u{n}" if n else "s",), f"u{n + 1}") for n in range(count)]
    rows.append(("/end", "Convolution", (f"u{count}",), "w"))
    a = plan({}, *rows)
    b = plan({}, START, ("y9", "kgen", ("s",), "v"), ("/end", "Convolution", ("v",), "w"))
    assert alignment.align(a, b).only_b == (1,)
    end: Row = ("/end", "Convolution", ("v", "u"), "w")
    a = plan(
        {},
        START,
        ("x1", "kgen", ("s",), "t"),
        ("x2", "kgen", ("s",), "u"),
        ("x3", "gemm", ("t", "u"), "v"),
        end,
    )
    b = plan({}, START, ("{ForeignNode[/x1.../x3]}", "Myelin", ("s",), "v"), end)
    assert ((1, 2, 3), (1,)) in groups(a, b)
    assert ((1,), (1, 2, 3)) in groups(b, a)


def test_a_chain_counts_once_though_it_can_be_entered_twice() -> None:
    end: Row = ("/end", "Convolution", ("v",), "w")

    def two(first: str, type_: str) -> Plan:
        return plan(
            {}, START, (f"{first}1", type_, ("s",), "u"), (f"{first}2", type_, ("u", "s"), "v"), end
        )

    assert groups(two("x", "Scale"), two("y", "kgen")) == [
        ((0,), (0,)),
        ((1, 2), (1, 2)),
        ((3,), (3,)),
    ]


def test_shapes_that_are_not_known_do_not_agree() -> None:
    def shapeless(name: str, type_: str) -> Plan:
        rows = [("/start", "in", "s"), (name, "s", "v"), ("/end", "v", "w")]
        layers = tuple(
            Layer(
                index=index,
                name=own,
                type=type_,
                inputs=(Tensor(name=read),),
                outputs=(Tensor(name=write),),
            )
            for index, (own, read, write) in enumerate(rows)
        )
        return Plan(name="p", layers=layers)

    found = alignment.align(shapeless("x1", "gemm"), shapeless("y9", "kgen"))
    assert [one.score for one in found.pairs] == [1.0, alignment.SCORE_WITHOUT_SHAPES, 1.0]
