from __future__ import annotations

import pytest

from enginescope.analysis.layers.layer_table import attribute
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile


def plan(*names: str) -> Plan:
    layers = tuple(Layer(index=index, name=name) for index, name in enumerate(names))
    return Plan(name="p", layers=layers)


def profile(*names: str) -> Profile:
    layers = tuple(
        LayerTiming(index=index, name=name, mean_ms=float(index))
        for index, name in enumerate(names)
    )
    return Profile(source="trtexec", layers=layers)


def joined(layers: Plan, times: Profile) -> tuple[list[int | None], list[str]]:
    """Index of the timing of each layer, and the names left over."""
    found = attribute(layers, times)
    assert [one.layer for one in found.layers] == list(layers.layers)
    return (
        [one.timing.index if one.timing else None for one in found.layers],
        [one.name for one in found.unmatched],
    )


def test_by_name_whatever_the_order() -> None:
    assert joined(plan("a", "b", "c"), profile("c", "a", "b")) == ([1, 2, 0], [])


def test_in_the_plan_s_own_order() -> None:
    assert joined(plan("a", "b", "a"), profile("a", "b", "a")) == ([0, 1, 2], [])


def test_equal_counts_are_no_reason_to_join_by_position() -> None:
    assert joined(plan("a", "b"), profile("x", "b")) == ([None, 1], ["x"])


def test_repeated_names_by_occurrence() -> None:
    assert joined(plan("a", "b", "a", "a"), profile("a", "a", "b")) == ([0, 2, 1, None], [])
    assert joined(plan("a"), profile("a", "a")) == ([0], ["a"])


@pytest.mark.parametrize(
    "other", ["conv\x1frelu", "conv+relu", "conv + relu", "conv\x1e relu", "conv relu"]
)
def test_other_joints_between_fused_names(other: str) -> None:
    assert joined(plan("conv\x1erelu"), profile(other)) == ([0], [])


def test_exact_names_go_first() -> None:
    assert joined(plan("a+b", "a + b"), profile("a + b", "a+b")) == ([1, 0], [])


def test_nothing_in_common() -> None:
    assert joined(plan("a"), profile("b")) == ([None], ["b"])
    assert joined(plan(), profile("b")) == ([], ["b"])


@pytest.mark.parametrize(
    "name",
    [
        "trt86-h200/resnet18",
        "trt86-h200/depth_anything_small",
        "trt10-rtx3060/alexnet_fp16",
        "trt10-rtx3060/resnet18_fp16",
        "trex-examples/mobilenet.qat.onnx.engine",
        "trex-examples/resnet18-a100-fp16.engine",
    ],
)
def test_real_plans_are_matched_whole(shared, name: str) -> None:
    stem = shared / name
    layers, _ = parse_plan(stem.with_name(f"{stem.name}.graph.json").read_bytes(), name)
    times, _ = parse_profile(stem.with_name(f"{stem.name}.profile.json").read_bytes(), name)
    found = attribute(layers, times)
    assert found.unmatched == ()
    assert all(one.timing is not None for one in found.layers)
