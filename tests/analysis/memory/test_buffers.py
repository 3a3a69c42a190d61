import pytest

from enginescope.analysis.memory.buffers import buffers_of
from enginescope.records.plan.plan import EXECUTED, SHAPES, IOTensor, Plan
from tests.analysis.card_plans import layer, tensor


def executed(*layers, given, taken, shapes=None) -> Plan:
    io = (IOTensor(tensor=given, mode="input"), IOTensor(tensor=taken, mode="output"))
    return Plan(
        name="p", layers=layers, io=io, source_schema=EXECUTED, extra={SHAPES: shapes or {}}
    )


def names(plan: Plan) -> list[tuple[str, ...]]:
    return [tuple(one.name for one in buffer.tensors) for buffer in buffers_of(plan).buffers]


def chain(*kinds: str, shapes=None, size: int = 8) -> Plan:
    """Return x → a → b → … → y, a layer of each kind; all tensors have one size."""
    tensors = [tensor(name, size) for name in ("x", *"abcdefg"[: len(kinds) - 1], "y")]
    layers = [
        layer(at, f"n{at}", kind, [tensors[at]], [tensors[at + 1]]) for at, kind in enumerate(kinds)
    ]
    return executed(*layers, given=tensors[0], taken=tensors[-1], shapes=shapes)


def test_a_view_lies_in_the_memory_of_its_input_and_free_memory_is_used_again() -> None:
    plan = chain("Conv", "Reshape", "Conv")
    assert (names(plan), buffers_of(plan).buffers[0].last) == ([("a", "b"), ("y",)], 2)
    assert names(chain("Relu", "Conv")) == [("a",), ("y",)]
    assert names(chain("Conv", "Relu")) == [("a",), ("y",)]
    plan = chain("Conv", "Conv", "Conv", "Conv")
    assert names(plan) == [("a", "c"), ("b",), ("y",)]
    assert [(one.first, one.last) for one in buffers_of(plan).buffers] == [(0, 3), (1, 2), (3, 4)]


def test_an_activation_and_a_convolution_write_over_what_nothing_else_reads() -> None:
    assert names(chain("Conv", "Relu", "Conv")) == [("a", "b"), ("y",)]
    x, a, b, c, y = (tensor(name, 8) for name in "xabcy")
    plan = executed(
        layer(0, "one", "Conv", [x], [a]),
        layer(1, "two", "Relu", [a], [b]),
        layer(2, "three", "Mul", [a, b], [c]),
        layer(3, "four", "Conv", [c], [y]),
        given=x,
        taken=y,
    )
    assert names(plan)[:2] == [("a",), ("b",)]
    x, a, b, y, c = (tensor(name, 8) for name in "xabyc")
    plan = executed(
        layer(0, "one", "Conv", [x], [a]),
        layer(1, "two", "Conv", [x], [b]),
        layer(2, "sum", "FusedConv", [a, b], [c]),
        layer(3, "last", "Conv", [c], [y]),
        given=x,
        taken=y,
    )
    assert ("b", "c") in names(plan)


@pytest.mark.parametrize(
    ("shapes", "is_shared"),
    [
        ({"a": ["n"], "c": ["n"]}, True),
        ({"a": ["n"], "c": ["m"]}, False),
        ({"a": [None], "c": [None]}, False),
        ({"a": None, "c": None}, False),
    ],
)
def test_shapes_that_vary_are_the_same_by_the_names_of_dimensions(shapes, is_shared: bool) -> None:
    assert (("a", "c") in names(chain("Conv", "Conv", "Conv", "Conv", shapes=shapes))) == is_shared


def test_a_tensor_that_nothing_reads_lives_until_the_end() -> None:
    x, a, b, y = (tensor(name, 8) for name in "xaby")
    plan = executed(
        layer(0, "split", "Split", [x], [a, b]),
        layer(1, "conv", "Conv", [a], [y]),
        given=x,
        taken=y,
    )
    assert {one.tensor.name: one.last for one in buffers_of(plan).buffers} == {
        "a": 1,
        "b": 2,
        "y": 2,
    }
