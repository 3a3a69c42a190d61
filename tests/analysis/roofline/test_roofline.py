from __future__ import annotations

import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.roofline.layer_work import LayerWork, layer_work
from enginescope.analysis.roofline.roofline import (
    GpuLimits,
    LayerRoof,
    Roofline,
    gpu_limits,
    roofline,
)
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from enginescope.records.tensor import DataType, Tensor

#: 10⁶ bytes and 10⁹ multiply-accumulates per millisecond.
GPU = GpuLimits(name="toy", memory_gb_per_s=1.0, peak_tflops={"FP16": 2.0, "FP32": 1.0})


def layer(index: int, kind: str = "Convolution", dtype: DataType = DataType.FP16) -> Layer:
    reads = (Tensor(name="x", dtype=dtype),)
    return Layer(index=index, name=f"l{index}", type=kind, inputs=reads)


def roofs(*parts: tuple[Layer, LayerWork, float | None]) -> Roofline:
    plan = Plan(name="p", layers=tuple(one for one, _, _ in parts))
    timed = [(one.name, ms) for one, _, ms in parts if ms is not None]
    times = tuple(
        LayerTiming(index=at, name=name, mean_ms=ms) for at, (name, ms) in enumerate(timed)
    )
    joined = attribute(plan, Profile(source="trtexec", layers=times))
    return roofline(plan, [work for _, work, _ in parts], GPU, joined)


def test_bound_by_compute_or_memory() -> None:
    heavy = LayerWork(macs=3_000_000_000, moved_bytes=1_000_000)
    light = LayerWork(macs=1_000_000, moved_bytes=2_000_000)
    found = roofs((layer(0), heavy, 6.0), (layer(1), light, 8.0))
    first, second = found.layers
    assert (first.bound, first.compute_ms, first.memory_ms) == ("compute", 3.0, 1.0)
    assert (first.attainable_ms, first.distance, first.excess_ms) == (3.0, 2.0, 3.0)
    assert (second.bound, second.attainable_ms, second.distance) == ("memory", 2.0, 4.0)
    assert [one.position for one in found.worst()] == [1, 0]
    assert (found.saving_ms(), found.saving_ms(1)) == (9.0, 6.0)
    assert found.unknown == 0


def test_faster_than_the_limit_saves_nothing() -> None:
    found = roofs((layer(0), LayerWork(macs=1, moved_bytes=1_000_000), 0.5))
    assert found.layers[0].distance == 0.5
    assert found.layers[0].excess_ms == 0.0
    assert found.worst() == ()
    assert found.saving_ms() == 0


def test_work_that_is_not_known() -> None:
    moved = LayerWork(moved_bytes=1_000_000)
    found = roofs(
        (layer(0, "kgen"), moved, 3.0),
        (layer(1, "Reformat"), moved, 2.0),
        (layer(2), LayerWork(), 1.0),
        (layer(3), LayerWork(macs=1_000_000_000), None),
        (layer(4, "NoOp"), LayerWork(), None),
    )
    kgen, copy, unknown, untimed = found.layers
    assert (kgen.is_partial, copy.is_partial, unknown.is_partial) == (True, False, True)
    assert (unknown.bound, unknown.attainable_ms, unknown.excess_ms) == (None, None, None)
    assert (untimed.bound, untimed.distance, untimed.excess_ms) == ("compute", None, None)
    assert [one.position for one in found.worst()] == [1]
    assert found.unknown == 1


def test_precisions_of_the_gpu() -> None:
    work = LayerWork(macs=1_000_000_000, moved_bytes=1)
    every = (layer(0, dtype=DataType.FP32), layer(1, dtype=DataType.FP8))
    single, eight = roofs(*((one, work, None) for one in every)).layers
    assert single.compute_ms == 2.0  # TF32 where there is none
    assert (eight.compute_ms, eight.is_partial) == (None, True)
    assert LayerRoof(position=0).distance is None


def test_without_times() -> None:
    plan = Plan(name="p", layers=(layer(0),))
    found = roofline(plan, [LayerWork(macs=1, moved_bytes=1)], GPU)
    assert (found.layers[0].time_ms, found.unknown) == (None, 0)


def test_a_real_plan(shared) -> None:
    stem = shared / "trex-examples" / "resnet18-a100-fp16.engine"
    plan, _ = parse_plan(stem.with_name(f"{stem.name}.graph.json").read_bytes(), "a")
    profile, _ = parse_profile(stem.with_name(f"{stem.name}.profile.json").read_bytes(), "a")
    gpu = gpu_limits("A100 80GB PCIe")
    assert gpu is not None
    found = roofline(plan, layer_work(plan), gpu, attribute(plan, profile))
    assert len(found.layers) == 25
    assert found.unknown == 0
    assert not any(one.is_partial for one in found.layers)
    assert all(one.distance > 1 for one in found.layers)  # a batch of 32 outgrows the cache
    assert 0 < found.saving_ms() < layer_times(profile).sum_ms
    assert found.saving_ms(100) == pytest.approx(
        layer_times(profile).sum_ms - sum(one.attainable_ms for one in found.layers)
    )
