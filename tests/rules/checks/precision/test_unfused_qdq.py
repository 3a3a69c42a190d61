from __future__ import annotations

import pytest

from tests.rules.made import findings, layer, severities


def test_found() -> None:
    found = findings(
        "PLAN106",
        layer("PointWise", "in FP16", "a FP16"),
        layer("Scale", "a FP16", "b INT8"),
        layer("Dequantize", "b INT8", "c FP16"),
        layer("Reformat", "c FP16", "d FP8", Origin="QDQ"),
        layer("PointWise", "d FP8", "out FP16"),
    )
    assert [one.message for one in found] == [
        "is a Quantize on its own, FP16 to INT8: the layer before it runs in floats",
        "is a Dequantize on its own, INT8 to FP16: the layer behind it runs in floats",
        "is a Quantize on its own, FP16 to FP8",
    ]
    assert severities(found) == ["warning"] * 3


CONV = layer("Convolution", "in INT8 1x16x8x8", "a FP16 1x16x8x8", name="conv")
QUANTIZE = layer("Reformat", "a FP16 1x16x8x8", "b INT8 1x16x8x8", Origin="QDQ", name="quantize")


def test_the_residual_branch_is_why() -> None:
    add = layer("Convolution", "b INT8 1x16x8x8, a FP16 1x16x8x8", "out FP16 1x16x8x8")
    (one,) = findings("PLAN106", CONV, QUANTIZE, add, times=(0.4, 0.2, 0.4))
    assert one.message.endswith(": another layer reads the same tensor in floats")
    assert "residual branch" in one.advice
    assert one.layers == (1, 0)
    assert one.evidence["partner"] == "conv"
    spared = 0.4 * 1024 / (1024 + 2048)  # the bytes that an INT8 output would not have
    assert one.saving.bound_ms == pytest.approx(0.2 + spared)


def test_a_residual_in_front_is_why() -> None:
    add = layer("Convolution", "in INT8 1x16x8x8, r FP16 1x16x8x8", "a FP16 1x16x8x8", name="add")
    end = layer("Convolution", "b INT8 1x16x8x8", "out INT8 1x16x8x8")
    (one,) = findings("PLAN106", add, QUANTIZE, end, inputs="in r")
    assert one.message.endswith(": the layer before it adds a residual in floats")


def test_a_dequantize_for_a_residual() -> None:
    back = layer("Reformat", "a INT8 1x16x8x8", "b FP32 1x16x8x8", Origin="QDQ")
    first = layer("Convolution", "in INT8 1x16x8x8", "a INT8 1x16x8x8")
    add = layer("Convolution", "a INT8 1x16x8x8, b FP32 1x16x8x8", "out FP32 1x16x8x8")
    (one,) = findings("PLAN106", first, back, add)
    assert one.message.endswith(": a quantized layer adds it in floats")
    alone = layer("PointWise", "b FP32 1x16x8x8", "out FP32 1x16x8x8")
    (other,) = findings("PLAN106", first, back, alone)
    assert other.message.endswith(": the layer behind it runs in floats")


def test_of_the_engine_s_input_it_is_info() -> None:
    found = findings(
        "PLAN106",
        layer("Reformat", "in FP32", "a INT8", Origin="QDQ"),
        layer("PointWise", "a INT8", "out INT8"),
    )
    assert severities(found) == ["info"]
    assert found[0].message.endswith("of the engine's input")


def test_not_found() -> None:
    assert (
        findings(
            "PLAN106",
            layer("Scale", "in FP16", "a FP16"),
            layer("Scale", "a FP16", "b FP32"),
            layer("Reformat", "b FP32", "c INT8", Origin="REFORMAT"),
            layer("Reformat", "c INT8", "d INT8", Origin="QDQ"),
            layer("PointWise", "d INT8", "out FP16"),
        )
        == ()
    )
