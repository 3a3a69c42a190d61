import pytest

from enginescope.analysis.plans.plan_columns import plan_totals
from enginescope.analysis.plans.plan_view import plan_tensors
from enginescope.records.plan.plan import IOTensor, Layer, Plan, Weights
from enginescope.records.tensor import DataType, Tensor
from tests.analysis import card_plans
from tests.analysis.card_plans import tensor
from tests.formats import plans


def layer(index: int, reads: list[Tensor], writes: list[Tensor], kind: str = "kgen") -> Layer:
    return card_plans.layer(index, f"l{index}", kind, reads, writes)


def plan_of(*layers: Layer, inputs: tuple[Tensor, ...] = ()) -> Plan:
    io = tuple(IOTensor(tensor=one, mode="input") for one in inputs)
    return Plan(name="p", layers=layers, io=io)


def test_the_bytes_of_plans_and_chains() -> None:
    plan = plans.parsed(plans.tensorrt_8_4())
    totals = plan_totals(plan)
    assert (totals.layers, totals.active_layers) == (3, 2)
    assert totals.layers_by_type == {"Reformat": 1, "Convolution": 1}
    assert totals.layers_by_precision == {"FP32": 1, "FP16": 1}
    assert (totals.weights_bytes, totals.bias_bytes) == (216, 16)
    image, packed, features = 3 * 64 * 4, 3 * 64 * 2, 4 * 64
    assert totals.activation_bytes == image + packed + packed + features
    assert totals.padded_activation_bytes == image + 2 * 8 * 64 * 2 + 32 * 64
    assert totals.unknown_tensors == 0
    assert [(one.tensor.name, one.written_by, one.read_by) for one in plan_tensors(plan)] == [
        ("image", (), (0,)),
        ("packed", (0,), (1,)),
        ("features", (1,), (2,)),
        ("flat", (2,), ()),
    ]
    totals = plan_totals(plans.parsed(plans.tensorrt_10()))
    assert totals.weights_bytes == 216 + 256 * 10 * 2 + 10 * 2
    # the no-op passes the features on at the size of its input
    assert totals.activation_bytes == image + packed + packed + features + features + 20


def test_constants_count_once() -> None:
    x, w, y, z = (tensor(name, 4) for name in "xwyz")
    totals = plan_totals(plan_of(layer(0, [x, w], [y]), layer(1, [y, w], [z]), inputs=(x,)))
    assert (totals.weights_bytes, totals.activation_bytes) == (16, 4 * 16)
    x, w, v, y = (tensor(name, 4) for name in "xwvy")
    weights = (Weights(role="weights", dtype=DataType.FP16, count=4),)
    carried = Layer(index=0, name="c", type="Constant", outputs=(w,), weights=weights)
    bare = layer(1, [], [v], "Constant")
    totals = plan_totals(plan_of(carried, bare, layer(2, [x, w, v], [y]), inputs=(x,)))
    assert totals.weights_bytes == 16 + 16  # both are FP32 in the engine
    assert (totals.activation_bytes, totals.active_layers) == (32, 1)


def test_no_ops_unknown_sizes_and_memory_used_again() -> None:
    x, big, small, tail = tensor("x", 2), tensor("big", 8), tensor("small", 4), tensor("tail", 1)
    idle = layer(1, [big], [small], "NoOp"), layer(2, [small], [tail], "NoOp")
    totals = plan_totals(plan_of(layer(0, [x], [big]), *idle, layer(3, [tail], [x]), inputs=(x,)))
    assert totals.activation_bytes == 8 + 32 + 32 + 8
    x = tensor("x", None, 3)
    totals = plan_totals(plan_of(layer(0, [x], [tensor("y", 4)]), inputs=(x,)))
    assert (totals.activation_bytes, totals.unknown_tensors) == (16, 1)
    empty = plan_totals(Plan(name="p", layers=(Layer(index=0, name="a"),)))
    assert (empty.weights_bytes, empty.bias_bytes, empty.activation_bytes) == (None, None, None)
    assert empty.layers_by_precision == {"unknown": 1}
    x, narrow, wide, spare = tensor("x", 1), tensor("r", 2), tensor("r", 4), tensor("spare", 1)
    plan = plan_of(layer(0, [x], [narrow]), layer(1, [narrow, narrow], [wide]), inputs=(x, spare))
    found = {one.tensor.name: one for one in plan_tensors(plan)}
    assert (found["r"].tensor, found["r"].written_by, found["r"].read_by) == (narrow, (0, 1), (1,))
    assert (found["spare"].written_by, found["spare"].read_by) == ((), ())


@pytest.mark.parametrize(
    ("name", "weights_mib", "activations_mib"),
    [("alexnet_fp16", 116.5, 3.1), ("resnet18_fp16", 22.3, 12.9)],
)
def test_gemm_weights_are_no_activations(shared, name, weights_mib, activations_mib) -> None:
    """trex says 4.7 and 114.9 MiB of AlexNet; tests/trex holds the sum to its parameters."""
    totals = plan_totals(plans.recorded(shared / "trt10-rtx3060", name))
    assert totals.weights_bytes / 2**20 == pytest.approx(weights_mib, abs=0.05)
    assert totals.activation_bytes / 2**20 == pytest.approx(activations_mib, abs=0.05)
