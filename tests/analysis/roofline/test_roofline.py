import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.roofline.layer_work import LayerWork, layer_work
from enginescope.analysis.roofline.roofline import (
    GpuLimits,
    LayerRoof,
    Roofline,
    gpu_limits,
    known_gpus,
    limits_of,
    other_gpu,
    rate_precision,
    roofline,
)
from enginescope.core.errors import UsageError
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.tensor import DataType, Tensor
from tests.formats import plans

#: 10⁶ bytes and 10⁹ multiply-accumulates per millisecond.
GPU = GpuLimits(name="toy", memory_gb_per_s=1.0, peak_tflops={"FP16": 2.0, "FP32": 1.0})


def layer(index: int, kind: str = "Convolution", dtype: DataType = DataType.FP16) -> Layer:
    return Layer(index=index, name=f"l{index}", type=kind, inputs=(Tensor(name="x", dtype=dtype),))


def roofs(*parts: tuple[Layer, LayerWork, float | None]) -> Roofline:
    plan = Plan(name="p", layers=tuple(one for one, _, _ in parts))
    timed = [(one.name, ms) for one, _, ms in parts if ms is not None]
    joined = attribute(plan, plans.profile(*timed))
    return roofline(plan, [work for _, work, _ in parts], GPU, joined)


def test_bound_by_compute_or_memory_and_faster_than_the_limit_saves_nothing() -> None:
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
    found = roofs((layer(0), LayerWork(macs=1, moved_bytes=1_000_000), 0.5))
    assert (found.layers[0].distance, found.layers[0].excess_ms) == (0.5, 0.0)
    assert (found.worst(), found.saving_ms()) == ((), 0)


def test_work_times_or_precisions_that_are_not_known() -> None:
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
    work = LayerWork(macs=1_000_000_000, moved_bytes=1)
    every = (layer(0, dtype=DataType.FP32), layer(1, dtype=DataType.FP8))
    single, eight = roofs(*((one, work, None) for one in every)).layers
    assert single.compute_ms == 2.0  # TF32 where there is none
    assert (eight.compute_ms, eight.is_partial) == (None, True)
    assert LayerRoof(position=0).distance is None
    found = roofline(Plan(name="p", layers=(layer(0),)), [LayerWork(macs=1, moved_bytes=1)], GPU)
    assert (found.layers[0].time_ms, found.unknown) == (None, 0)


def test_a_real_plan(shared) -> None:
    files = shared / "trex-examples", "resnet18-a100-fp16.engine"
    plan, profile = plans.recorded(*files), plans.recorded_times(*files)
    found = roofline(plan, layer_work(plan), gpu_limits("A100 80GB PCIe"), attribute(plan, profile))
    assert (len(found.layers), found.unknown) == (25, 0)
    assert not any(one.is_partial for one in found.layers)
    assert all(one.distance > 1 for one in found.layers)  # a batch of 32 outgrows the cache
    assert 0 < found.saving_ms() < layer_times(profile).sum_ms
    least_ms = sum(one.attainable_ms for one in found.layers)
    assert found.saving_ms(100) == pytest.approx(layer_times(profile).sum_ms - least_ms)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("NVIDIA H200", "H200"),
        ("h200", "H200"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe"),
        ("A100-PCIE-40GB", "A100 40GB PCIe"),
        ("Tesla T4", "T4"),
        ("Tesla V100-SXM2-32GB", "V100 SXM2"),
        ("NVIDIA TITAN RTX", "TITAN RTX"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada Generation"),
    ],
)
def test_by_the_drivers_name_and_by_peoples(said: str, name: str) -> None:
    assert gpu_limits(said).name == name


@pytest.mark.parametrize(
    "said",
    [
        None,
        "",
        "NVIDIA",
        "A100",
        "NVIDIA GeForce RTX 3060 Laptop GPU",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "Radeon",
    ],
)
def test_others_are_not_known(said: str | None) -> None:
    assert gpu_limits(said) is None


@pytest.mark.parametrize("name", known_gpus())
def test_the_table_is_sound(name: str) -> None:
    found = gpu_limits(name)
    assert found.name == name
    peak = found.peak_tflops
    assert peak["FP16"] > peak["FP32"] > 0
    assert found.memory_gb_per_s > 50
    for narrow, wide in (("FP8", "FP16"), ("INT8", "FP16"), ("FP4", "FP8"), ("INT4", "INT8")):
        if narrow in peak:
            assert peak[narrow] == pytest.approx(2 * peak[wide], rel=0.02)
    if "TF32" in peak:
        assert peak["TF32"] >= peak["FP32"]


def test_a_name_of_several_or_none_lists_those_near() -> None:
    with pytest.raises(UsageError) as caught:
        limits_of("NVIDIA A100")
    assert "several" in str(caught.value.why)
    assert "A100 80GB SXM" in caught.value.hint
    assert "H100" not in caught.value.hint
    with pytest.raises(UsageError) as caught:
        limits_of("GeForce RTX 50")
    assert caught.value.hint == "take one of: RTX 5080, RTX 5090"
    assert limits_of("4090").name == "RTX 4090"
    files = [Device(name="NVIDIA A100 80GB PCIe")]
    assert limits_of("A100", files).name == "A100 80GB PCIe"
    assert other_gpu("A100", files) is None
    for others in ([Device(name="NVIDIA H200")], [Device(name="A100-SXM4-40GB"), *files]):
        with pytest.raises(UsageError):
            limits_of("A100", others)
    with pytest.raises(UsageError) as caught:
        limits_of("RTX 3095")
    assert "RTX 309" in caught.value.hint
    found = GpuLimits(name="x", memory_gb_per_s=2000, peak_tflops={"FP16": 312.0})
    assert (found.bytes_per_ms, found.macs_per_ms("FP16")) == (2e9, 156e9)
    assert found.macs_per_ms("FP8") is None


@pytest.mark.parametrize(
    ("dtype", "tactic", "expected"),
    [
        (DataType.INT8, None, "INT8"),
        (DataType.BF16, None, "FP16"),
        (DataType.FP32, "ampere_scudnn_128x64", "FP32"),
        (DataType.FP32, "sm80_xmma_fprop_f32f32_tf32f32_f32", "TF32"),
        (DataType.FP32, None, "TF32"),
        (None, None, None),
    ],
)
def test_the_precision_that_bounds_a_layer(dtype, tactic, expected) -> None:
    one = Layer(index=0, name="a", inputs=(Tensor(name="x", dtype=dtype),), tactic_name=tactic)
    assert rate_precision(one) == expected
    assert rate_precision(Layer(index=0, name="a")) is None
