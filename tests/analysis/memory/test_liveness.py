import gzip

import pytest

from enginescope.analysis.memory.memory_view import memory_of
from enginescope.core.record import replace
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import IOTensor, Plan
from enginescope.records.tensor import Layout
from tests.analysis.card_plans import layer, small_plan, tensor
from tests.conftest import DATA


def plan_of(*layers, given, taken) -> Plan:
    io = (IOTensor(tensor=given, mode="input"), IOTensor(tensor=taken, mode="output"))
    return Plan(name="p", layers=layers, io=io)


def test_a_chain_holds_what_is_read_and_written_but_for_a_no_op_to_an_output() -> None:
    found = memory_of(small_plan())
    # a: 256 bytes, b: 512, c: 1024 and through the no-op; x, y and the weights are not activations
    assert found.live_bytes == (256, 256 + 512, 512 + 1024, 1024)
    assert (found.peak_bytes, found.peak_at, found.unknown) == (1536, 2, 0)
    assert memory_of(replace(small_plan(), io=())) is None
    assert memory_of(replace(small_plan(), source_schema="names-only")) is None
    x, a, y = tensor("x", 1), tensor("a", 100), tensor("y", 100)
    found = memory_of(
        plan_of(layer(0, "one", "A", [x], [a]), layer(1, "n", "NoOp", [a], [y]), given=x, taken=y)
    )
    assert found.live_bytes == (0,)
    assert found.peak_bytes == 0


def test_a_tensor_stays_alive_until_its_last_reader() -> None:
    x, y = tensor("x", 1), tensor("y", 1)
    a, b, c = tensor("a", 100), tensor("b", 10), tensor("c", 10)
    found = memory_of(
        plan_of(
            layer(0, "one", "A", [x], [a]),
            layer(1, "two", "A", [a], [b]),
            layer(2, "three", "A", [b], [c]),
            layer(3, "add", "A", [a, c], [y]),
            given=x,
            taken=y,
        )
    )
    assert found.live_bytes == (400, 440, 480, 440)
    first, other, again = tensor("r", 100), tensor("b", 1), tensor("r", 10)
    found = memory_of(
        plan_of(
            layer(0, "one", "A", [x], [first]),
            layer(1, "two", "A", [first], [other]),
            layer(2, "three", "A", [other], [again]),
            layer(3, "four", "A", [again], [y]),
            given=x,
            taken=y,
        )
    )
    assert found.live_bytes == (400, 404, 44, 40)
    found = memory_of(
        plan_of(
            layer(0, "one", "A", [x], [tensor("r", 50)]),
            layer(1, "two", "A", [x], [tensor("r", 50)]),
            layer(2, "three", "A", [tensor("r", 100)], [y]),
            given=x,
            taken=y,
        )
    )
    assert found.live_bytes == (400, 400, 400)


def test_padding_counts_and_unknown_sizes_are_told() -> None:
    x, y = tensor("x", 1), tensor("y", 1)
    wide = replace(
        tensor("a", 1, 3, 8, 8),
        layout=Layout(name="NC/32HW32", text="", vector_axis=1, vector_width=32),
    )
    dynamic = tensor("b", None)
    found = memory_of(
        plan_of(
            layer(0, "one", "A", [x], [wide]),
            layer(1, "two", "A", [wide], [dynamic]),
            layer(2, "three", "A", [dynamic], [y]),
            given=x,
            taken=y,
        )
    )
    assert found.live_bytes == (32 * 64 * 4, 32 * 64 * 4, 0)
    assert found.unknown == 1


@pytest.mark.parametrize(
    ("name", "printed", "least", "most"),
    [
        ("trt86-h200/resnet18", 2_418_176, 0.99, 1.0),
        ("trt86-h200/depth_anything_small", 43_378_688, 1.0, 1.2),
        ("field/trt10.14_rtx6000ada_exportLayerInfo", 125_440, 1.0, 1.0),
        ("field/trt10.16.0_rtx6000ada_exportLayerInfo", 125_440, 1.0, 1.0),
        ("field/trt10.16_h100_exportLayerInfo", 125_440, 1.0, 1.0),
    ],
)
def test_one_block_of_tensors_is_near_what_was_printed(shared, name, printed, least, most) -> None:
    """`Total Activation Memory` of the log of the same build."""
    path = shared / f"{name}.json"
    path = path if path.is_file() else shared / f"{name}.graph.json"
    found = memory_of(parse_plan(path.read_bytes(), name)[0])
    assert found.predicted is None
    assert found.peak_bytes <= printed
    assert least <= found.block_bytes / printed <= most


def test_one_block_of_all_tensors_is_what_tensorrt_printed() -> None:
    folder = DATA / "trt86-h200-process"
    log = gzip.decompress((folder / "small_convnet.onnx.engine.build.log.gz").read_bytes())
    plan, _ = parse_plan((folder / "small_convnet.onnx.engine.graph.json").read_bytes(), "net")
    assert f"Total Activation Memory: {memory_of(plan).block_bytes}\n".encode() in log
