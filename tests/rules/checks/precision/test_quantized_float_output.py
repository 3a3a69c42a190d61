from __future__ import annotations

from typing import Any

import pytest

from enginescope.records.plan.plan import Layer, Weights
from enginescope.records.tensor import DataType
from tests.rules.made import findings, layer, severities


def conv(side: int, channels: int, writes: str = "a FP16", **more: Any) -> Layer:
    weights = Weights(role="Weights", dtype=DataType.INT8, count=channels * channels * 9)
    shape = f"1x{channels}x{side}x{side}"
    return layer(
        "Convolution",
        f"in INT8 {shape}",
        f"{writes} {shape}",
        weights=(weights,),
        Kernel=[3, 3],
        **more,
    )


READER = layer("PointWise", "a FP16", "b FP16")
END = layer("PointWise", "b FP16", "out FP16")


def test_found_where_memory_bounds_it() -> None:
    (one,) = findings("PLAN103", conv(56, 16), READER, END, times=(0.5, 0.25, 0.25))
    assert one.message == "reads INT8 and writes FP16 and is bound by memory"
    assert one.severity.value == "warning"
    assert one.evidence["macs_per_byte"] < 100
    activations, weights = 16 * 56 * 56, 16 * 16 * 9
    moved = activations + 2 * activations + weights
    assert one.saving.bound_ms == pytest.approx(
        0.5 * activations / moved
    )  # of its FP16 output's half


def test_where_arithmetic_bounds_it_it_is_info() -> None:
    found = findings("PLAN103", conv(28, 512), READER, END)
    assert [one.message for one in found] == ["reads INT8 and writes FP16"]
    assert severities(found) == ["info"]


def test_the_gpu_s_balance_decides() -> None:
    layers = (conv(28, 128), READER, END)  # 263 multiplications a byte
    assert severities(findings("PLAN103", *layers)) == ["info"]
    assert severities(findings("PLAN103", *layers, gpu="NVIDIA H200")) == ["info"]
    slim = (conv(28, 64), READER, END)
    assert severities(findings("PLAN103", *slim)) == ["info"]
    assert severities(findings("PLAN103", *slim, gpu="T4")) == ["warning"]


def test_unknown_work_is_a_warning() -> None:
    gemm = layer("gemm", "in FP8", "a BF16")
    (one,) = findings("PLAN103", gemm, layer("PointWise", "a BF16", "b BF16"))
    assert one.message == "reads FP8 and writes BF16"
    assert one.severity.value == "warning"


def test_not_found() -> None:
    assert findings("PLAN103", conv(56, 16, "a INT8"), layer("PointWise", "a INT8", "b INT8")) == ()
    assert findings("PLAN103", conv(56, 16, "out FP32")) == ()
    copy = layer("Reformat", "a FP16", "out FP32")
    assert findings("PLAN103", conv(56, 16), copy) == ()
    assert findings("PLAN103", layer("gemm", "in FP16", "a FP16"), READER, END) == ()
