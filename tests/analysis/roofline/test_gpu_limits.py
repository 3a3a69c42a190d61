from __future__ import annotations

import pytest

from enginescope.analysis.roofline.roofline import (
    GpuLimits,
    gpu_limits,
    known_gpus,
    limits_of,
    other_gpu,
    rate_precision,
)
from enginescope.core.errors import UsageError
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import DataType, Tensor


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
    found = gpu_limits(said)
    assert found is not None
    assert found.name == name


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
    assert found is not None
    assert found.name == name
    peak = found.peak_tflops
    assert peak["FP16"] > peak["FP32"] > 0
    assert found.memory_gb_per_s > 50
    for narrow, wide in (("FP8", "FP16"), ("INT8", "FP16"), ("FP4", "FP8"), ("INT4", "INT8")):
        if narrow in peak:
            assert peak[narrow] == pytest.approx(2 * peak[wide], rel=0.02)
    if "TF32" in peak:
        assert peak["TF32"] >= peak["FP32"]


def test_a_name_of_several_lists_those() -> None:
    with pytest.raises(UsageError) as caught:
        limits_of("NVIDIA A100")
    assert "several" in str(caught.value.why)
    assert caught.value.hint is not None
    assert "A100 80GB SXM" in caught.value.hint
    assert "H100" not in caught.value.hint


def test_the_beginning_of_a_name_lists_those_that_begin_so() -> None:
    with pytest.raises(UsageError) as caught:
        limits_of("GeForce RTX 50")
    assert caught.value.hint == "take one of: RTX 5080, RTX 5090"


def test_a_part_of_one_name_is_that_name() -> None:
    assert limits_of("4090").name == "RTX 4090"


def test_a_name_of_several_is_the_one_that_the_files_name() -> None:
    files = [Device(name="NVIDIA A100 80GB PCIe")]
    assert limits_of("A100", files).name == "A100 80GB PCIe"
    assert other_gpu("A100", files) is None
    for others in ([Device(name="NVIDIA H200")], [Device(name="A100-SXM4-40GB"), *files]):
        with pytest.raises(UsageError):
            limits_of("A100", others)


def test_a_name_of_none_says_what_is_near() -> None:
    with pytest.raises(UsageError) as caught:
        limits_of("RTX 3095")
    assert caught.value.hint is not None
    assert "RTX 309" in caught.value.hint


def test_rates() -> None:
    found = GpuLimits(name="x", memory_gb_per_s=2000, peak_tflops={"FP16": 312.0})
    assert found.bytes_per_ms == 2e9
    assert found.macs_per_ms("FP16") == 156e9
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
