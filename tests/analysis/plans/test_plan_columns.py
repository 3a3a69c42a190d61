from typing import Any

import pytest

from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.plans.layer_attributes import attributes_of
from enginescope.analysis.plans.plan_columns import COLUMNS, PlanFacts, plan_columns
from enginescope.analysis.roofline.layer_work import layer_bytes, layer_work
from enginescope.analysis.roofline.roofline import gpu_limits, roofline
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile, Weights
from enginescope.records.tensor import DataType
from tests.conftest import DATA
from tests.formats import plans


def facts_of(plan: Plan, profile: Profile | None = None, gpu: str | None = None) -> PlanFacts:
    works, limits = layer_work(plan), gpu_limits(gpu)
    joined = attribute(plan, profile) if profile else None
    roofs = roofline(plan, works, limits, joined) if limits else None
    facts = {"sizes": layer_bytes(plan), "works": works, "attribution": joined, "roofline": roofs}
    return PlanFacts(plan=plan, **facts)


def columns(plan: Plan, *positions: int, **more: Any) -> dict[str, list[Any]]:
    return plan_columns(facts_of(plan, **more), list(positions or range(len(plan.layers))))


def own(*values: Any) -> list[Any]:
    """The column of a field of the file that layers have with these values."""
    layers = tuple(
        Layer(index=i, name=f"l{i}", attributes={"Field": value}) for i, value in enumerate(values)
    )
    return columns(Plan(name="p", layers=(*layers, Layer(index=9, name="without"))))["Field"][:-1]


def test_a_convolution() -> None:
    found = columns(plans.parsed(plans.tensorrt_8_4()), 1)
    row = {name: values[0] for name, values in found.items() if values[0] is not None}
    macs = 64 * 4 * 27
    assert row == {
        "index": 1,
        "Name": "conv + relu",
        "type": "Convolution",
        "subtype": "CaskConvolution",
        "precision": "FP16",
        "output_precision": "INT8",
        "tactic": "sm80_xmma_fprop",
        "TacticValue": "0x112767cf498572ea",
        "inputs": "1×3×8×8 FP16 NHWC8",
        "outputs": "1×4×8×8 INT8 NC/32HW32",
        "weights_type": "FP16",
        "weights_count": 108,
        "total_io_size_bytes": 640,
        "weights_size": 216,
        "bias_size": 16,
        "total_footprint_bytes": 856,
        "moved_bytes": 872,
        "attr.macs": macs,
        "macs_source": "plan",
        "macs_shared": False,
        "gemm.m": 64,
        "gemm.n": 4,
        "gemm.k": 27,
        "gemm.groups": 1,
        "attr.arithmetic_intensity": macs / 872,
        "Kernel": [3, 3],
        "Groups": 1,
    }


def test_times_and_limits() -> None:
    plan = plans.parsed(plans.tensorrt_8_4())
    times = (
        LayerTiming(index=0, name="conv + relu", mean_ms=3.0, median_ms=2.5, total_ms=30.0),
        LayerTiming(index=1, name="elsewhere", mean_ms=1.0),
    )
    profile = Profile(source="trtexec", layers=times)
    found = columns(plan, 1, 0, profile=profile, gpu="T4")
    assert (found["latency.avg_time"], found["latency.raw_time"]) == ([3.0, None], [None, None])
    assert found["latency.pct_time"] == [75.0, None]
    assert found["attr.compute_efficiency"] == [64 * 4 * 9, None]
    assert found["attr.memory_efficiency"][0] == 872 / 3
    assert found["roofline.bound"] == ["memory", "memory"]
    assert found["roofline.attainable_ms"][0] == pytest.approx(872 / 320e6)
    assert found["roofline.excess_ms"] == [pytest.approx(3.0), None]
    assert found["roofline.is_partial"] == [False, False]
    assert "roofline.bound" not in columns(plan, 1, profile=profile)


def test_tensors_and_nodes_as_text() -> None:
    found = columns(plans.parsed(plans.tensorrt_10()), 4)
    assert found["onnx_nodes"] == ["head/MatMul;head/Add"]
    assert found["inputs"][0].startswith("1×256 FP16; 256×10 FP16")
    assert found["stream"] == [0]
    assert "Metadata" not in found
    assert columns(plans.parsed(plans.tensorrt_11()))["inputs"] == ["?×3×8×8 FP16 NHWC8"]
    bare = columns(plans.parsed(plans.names_only()))
    assert [bare[one] for one in ("precision", "weights_size")] == [[None, None]] * 2
    assert bare["inputs"] == ["", ""]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, None, 3), [1, None, 3]),
        ((1, 2.5), [1.0, 2.5]),
        (("a", "b"), ["a", "b"]),
        ((True, False), [True, False]),
        (([1, 2], None, [3]), [[1, 2], None, [3]]),
        (([1, 2.5], [3]), [[1.0, 2.5], [3.0]]),
        (([], ["a"]), [[], ["a"]]),
        ((1, "a"), ["1", '"a"']),
        (({"a": 1}, None), ['{"a":1}', None]),
        (([1, None], [2]), ["[1,null]", "[2]"]),
        (([1], 2), ["[1]", "2"]),
        ((2**63, 1), ["9223372036854775808", "1"]),
        (([[1]], [[2]]), ["[[1]]", "[[2]]"]),
    ],
)
def test_fields_of_the_file(values: tuple, expected: list) -> None:
    found = own(*values)
    assert found == expected
    assert [type(one) for one in found] == [type(one) for one in expected]


def test_a_field_whose_name_is_taken_and_no_rows() -> None:
    found = columns(Plan(name="p", layers=(Layer(index=0, name="a", attributes={"type": "odd"}),)))
    assert (found["type"], found["raw.type"]) == (["unknown"], ["odd"])
    found = plan_columns(facts_of(Plan(name="p", layers=())), [])
    assert {len(one) for one in found.values()} == {0}
    names = [one.name for one in COLUMNS]
    assert len(set(names)) == len(names)
    assert all(one.meaning for one in COLUMNS)


def test_a_convolution_has_all_of_its_attributes() -> None:
    plan = plans.recorded(DATA / "trt86-h200", "resnet18")
    layer = next(one for one in plan.layers if one.name == "/conv1/Conv + /relu/Relu")
    assert attributes_of(layer) == {
        "output_precision": "FP16",
        "weights_type": "FP16",
        "kernel": "7×7",
        "stride": "2×2",
        "padding": "3×3",
        "dilation": "1×1",
        "groups": 1,
        "out_channels": 64,
        "activation": "RELU",
        "stream": 0,
        "tactic_value": layer.tactic_value,
    }


def test_a_fused_convolution_a_pooling_and_weights_say_their_own() -> None:
    fused = {"ConvKernel": [3, 3], "ConvActivation": "NONE", "PoolingStride": [2, 2]}
    found = attributes_of(Layer(index=0, name="fused", type="ConvActPool", attributes=fused))
    assert found == {"kernel": "3×3", "stride": "2×2"}
    pooling = {"WindowSize": [7, 7], "PrePadding": [0, 0], "PostPadding": [1, 1]}
    found = attributes_of(Layer(index=0, name="pool", type="Pooling", attributes=pooling))
    assert found == {"kernel": "7×7", "padding": "0×0 before, 1×1 after"}
    weights = (
        Weights(role="Bias", dtype=DataType.FP32, count=8),
        Weights(role="Weights", dtype=DataType.INT8, count=72),
    )
    layer = Layer(index=0, name="conv", weights=weights, attributes={"Origin": "QDQ"})
    assert attributes_of(layer) == {"weights_type": "INT8", "reformat_origin": "QDQ"}
