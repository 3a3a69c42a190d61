import json
from typing import Any

import pytest

from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.plans.plan_columns import COLUMNS, PlanFacts, plan_columns
from enginescope.analysis.roofline.layer_work import layer_bytes, layer_work
from enginescope.analysis.roofline.roofline import gpu_limits, roofline
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from tests.analysis.plans.test_plan_totals import GOLDEN, MISSED_BY_TREX
from tests.formats import plans


def facts_of(plan: Plan, profile: Profile | None = None, gpu: str | None = None) -> PlanFacts:
    works = layer_work(plan)
    joined = attribute(plan, profile) if profile else None
    limits = gpu_limits(gpu)
    return PlanFacts(
        plan=plan,
        sizes=layer_bytes(plan),
        works=works,
        attribution=joined,
        roofline=roofline(plan, works, limits, joined) if limits else None,
    )


def columns(plan: Plan, *positions: int, **more: Any) -> dict[str, list[Any]]:
    every = positions or range(len(plan.layers))
    return plan_columns(facts_of(plan, **more), list(every))


def parsed(document: object) -> Plan:
    return parse_plan(plans.encoded(document), "a")[0]


def own(*values: Any) -> list[Any]:
    """The column of a field of the file that layers have with these values."""
    layers = tuple(
        Layer(index=i, name=f"l{i}", attributes={"Field": value}) for i, value in enumerate(values)
    )
    return columns(Plan(name="p", layers=(*layers, Layer(index=9, name="without"))))["Field"][:-1]


def test_a_convolution() -> None:
    found = columns(parsed(plans.tensorrt_8_4()), 1)
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
    plan = parsed(plans.tensorrt_8_4())
    times = (
        LayerTiming(index=0, name="conv + relu", mean_ms=3.0, median_ms=2.5, total_ms=30.0),
        LayerTiming(index=1, name="elsewhere", mean_ms=1.0),
    )
    profile = Profile(source="trtexec", layers=times)
    found = columns(plan, 1, 0, profile=profile, gpu="T4")
    assert found["latency.avg_time"] == [3.0, None]
    assert found["latency.raw_time"] == [None, None]
    assert found["latency.pct_time"] == [75.0, None]
    assert found["attr.compute_efficiency"] == [64 * 4 * 9, None]
    assert found["attr.memory_efficiency"][0] == 872 / 3
    assert found["roofline.bound"] == ["memory", "memory"]
    assert found["roofline.attainable_ms"][0] == pytest.approx(872 / 320e6)
    assert found["roofline.excess_ms"] == [pytest.approx(3.0), None]
    assert found["roofline.is_partial"] == [False, False]
    assert "roofline.bound" not in columns(plan, 1, profile=profile)


def test_tensors_and_nodes_as_text() -> None:
    found = columns(parsed(plans.tensorrt_10()), 4)
    assert found["onnx_nodes"] == ["head/MatMul;head/Add"]
    assert found["inputs"][0].startswith("1×256 FP16; 256×10 FP16")
    assert found["stream"] == [0]
    assert "Metadata" not in found
    assert columns(parsed(plans.tensorrt_11()))["inputs"] == ["?×3×8×8 FP16 NHWC8"]
    bare = columns(parsed(plans.names_only()))
    assert (bare["inputs"], bare["precision"], bare["weights_size"]) == (
        ["", ""],
        [None, None],
        [None, None],
    )


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
    layer = Layer(index=0, name="a", attributes={"type": "odd"})
    found = columns(Plan(name="p", layers=(layer,)))
    assert (found["type"], found["raw.type"]) == (["unknown"], ["odd"])
    found = plan_columns(facts_of(Plan(name="p", layers=())), [])
    assert {len(one) for one in found.values()} == {0}
    names = [one.name for one in COLUMNS]
    assert len(set(names)) == len(names)
    assert all(one.meaning for one in COLUMNS)


@pytest.mark.parametrize("name", GOLDEN)
def test_goldens(shared, name: str) -> None:
    """trex's data frame, but for what a ConvActPool layer carries."""
    golden = json.loads((shared / "goldens.json").read_bytes())["plans"][name]
    stem = shared / "trex-examples" / name
    plan, _ = parse_plan(stem.with_name(f"{name}.graph.json").read_bytes(), name)
    profile, _ = parse_profile(stem.with_name(f"{name}.profile.json").read_bytes(), name)
    active = [at for at, layer in enumerate(plan.layers) if not layer.is_inert]
    found = plan_columns(facts_of(plan, profile), active)
    rows = golden["per_layer"]
    same = ("Name", "type", "subtype", "precision", "output_precision", "total_io_size_bytes")
    for column in same:
        assert found[column] == [row[column] for row in rows]
    assert [one or "TensorRT" for one in found["tactic"]] == [row["tactic"] for row in rows]
    assert found["latency.avg_time"] == [row["avg"] for row in rows]
    assert found["latency.pct_time"] == pytest.approx([row["pct"] for row in rows], rel=1e-3)
    missed = sum(found["weights_size"]) - sum(row["weights_size"] for row in rows)
    assert missed == MISSED_BY_TREX.get(name, 0)
    renamed = {
        "latency.time",
        "latency.median_time",
        "Inputs",
        "Outputs",
        "Weights",
        "Bias",
        "ConvWeights",
        "ConvBias",
    }
    assert set(golden["df_columns"]) - renamed <= set(found)
