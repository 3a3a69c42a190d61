from typing import Any

import pytest

from enginescope.records.plan.plan import Layer, Weights
from enginescope.records.tensor import DataType
from tests.rules.made import findings, layer, severities

HALF = layer("Convolution", "in FP16", "a FP16")


def test_fp32_left_found() -> None:
    found = findings(
        "PLAN110",
        HALF,
        layer("gemm", "b FP32", "c FP32"),
        layer("kgen", "c FP32", "out FP32", tactic_name="__myl_MeanSub"),
        times=(1.0, 0.5, 0.25),
    )
    assert [one.saving.bound_ms for one in found] == [0.5, 0.125]
    assert severities(found) == ["warning", "info"]


def test_fp32_left_not_found() -> None:
    assert not findings(
        "PLAN110",
        HALF,
        layer("Reformat", "a FP16", "b FP32"),
        layer("Reformat", "b FP32", "c FP32"),
        layer("Shuffle", "c FP32", "d FP32"),
        layer("PointWise", "d FP32", "e FP16"),
        layer("PointWise", "e FP32", "f FP32", name="idle"),
        times=(1.0, 1.0, 1.0, 1.0, 1.0, 0.0),
    )
    single = layer("Convolution", "in FP32", "a FP32")
    assert findings("PLAN110", single, layer("Reformat", "a FP16", "out FP32")) == ()


FIRST = layer("Convolution", "in FP16 1x8x4x4", "a FP16 1x8x4x4", name="first")
IN = layer("Reformat", "a FP16 1x8x4x4", "b FP32 1x8x4x4", name="in")
POOL = layer("Pooling", "b FP32 1x8x4x4", "c FP32 1x8x1x1", name="pool")
FC = layer("PointWise", "c FP32 1x8x1x1", "d FP32 1x8x1x1", name="fc")
OUT = layer("Reformat", "d FP32 1x8x1x1", "e FP16 1x8x1x1", name="out")
LAST = layer("Convolution", "e FP16 1x8x1x1", "out FP16 1x8x1x1", name="last")


def test_precision_island_found() -> None:
    times = (1.0, 0.1, 0.2, 0.4, 0.1, 1.0)
    (one,) = findings("PLAN117", FIRST, IN, POOL, FC, OUT, LAST, times=times)
    assert (one.subject, one.layers) == ("pool … fc", (1, 2, 3, 4))
    message = "is an island of 2 layers in FP32 in a plan of FP16, with 2 copies around it"
    assert one.message == message
    assert one.saving.bound_ms == pytest.approx(0.1 + 0.1 + (0.2 + 0.4) / 2)  # half of FP32's bytes
    (one,) = findings("PLAN117", FIRST, IN, POOL, LAST, outputs="c out", inputs="in e")
    assert (one.subject, one.layers) == ("pool", (1, 2))
    assert one.message.endswith("with 1 copy around it")
    assert one.evidence == {"precision": "FP32", "around": "FP16", "layers": 1}
    mean = layer("Pooling", "b FP32 1x8x4x4", "m FP32 1x8x1x1", name="mean")
    fc = layer("PointWise", "c FP32 1x8x1x1, m FP32 1x8x1x1", "d FP32 1x8x1x1", name="fc")
    (one,) = findings("PLAN117", FIRST, IN, POOL, mean, fc, OUT, LAST)
    assert one.layers == (1, 2, 3, 4, 5)
    product = layer("Convolution", "in INT8 1x8x4x4", "b FP16 1x8x4x4", name="product")
    pool = layer("Pooling", "b FP16 1x8x4x4", "c FP16 1x8x1x1", name="pool")
    back = layer("Reformat", "c FP16 1x8x1x1", "d INT8 1x8x1x1", Origin="QDQ")
    last = layer("Convolution", "d INT8 1x8x1x1", "out INT8 1x8x1x1")
    (one,) = findings("PLAN117", product, pool, back, last)
    assert (one.subject, one.layers) == ("pool", (0, 1, 2))


def test_precision_island_not_found() -> None:
    half = layer("Pooling", "a FP16 1x8x4x4", "e FP16 1x8x1x1")
    assert findings("PLAN117", FIRST, half, LAST) == ()
    single = layer("Convolution", "in FP32 1x8x4x4", "a FP32 1x8x4x4")
    assert findings("PLAN117", single, layer("Pooling", "a FP32 1x8x4x4", "out FP32 1x8")) == ()
    at_input = layer("Pooling", "in FP32 1x8x4x4", "d FP32 1x8x1x1")
    assert findings("PLAN117", at_input, OUT, LAST) == ()


def conv(side: int, channels: int, writes: str = "a FP16", **more: Any) -> Layer:
    weights = Weights(role="Weights", dtype=DataType.INT8, count=channels * channels * 9)
    shape = f"1x{channels}x{side}x{side}"
    own = {"weights": (weights,), "Kernel": [3, 3], **more}
    return layer("Convolution", f"in INT8 {shape}", f"{writes} {shape}", **own)


READER = layer("PointWise", "a FP16", "b FP16")
END = layer("PointWise", "b FP16", "out FP16")


def test_quantized_float_output_found_where_memory_bounds_it() -> None:
    (one,) = findings("PLAN103", conv(56, 16), READER, END, times=(0.5, 0.25, 0.25))
    assert one.message == "reads INT8 and writes FP16 and is bound by memory"
    assert one.severity.value == "warning"
    assert one.evidence["macs_per_byte"] < 100
    activations, weights = 16 * 56 * 56, 16 * 16 * 9
    moved = activations + 2 * activations + weights
    half_ms = 0.5 * activations / moved  # of its FP16 output's half
    assert one.saving.bound_ms == pytest.approx(half_ms)
    found = findings("PLAN103", conv(28, 512), READER, END)
    assert [one.message for one in found] == ["reads INT8 and writes FP16"]
    assert severities(found) == ["info"]
    layers = (conv(28, 128), READER, END)  # 263 multiplications a byte
    assert severities(findings("PLAN103", *layers)) == ["info"]
    assert severities(findings("PLAN103", *layers, gpu="NVIDIA H200")) == ["info"]
    slim = (conv(28, 64), READER, END)
    assert severities(findings("PLAN103", *slim)) == ["info"]
    assert severities(findings("PLAN103", *slim, gpu="T4")) == ["warning"]
    gemm = layer("gemm", "in FP8", "a BF16")
    (one,) = findings("PLAN103", gemm, layer("PointWise", "a BF16", "b BF16"))
    assert (one.message, one.severity.value) == ("reads FP8 and writes BF16", "warning")


def test_quantized_float_output_not_found() -> None:
    assert findings("PLAN103", conv(56, 16, "a INT8"), layer("PointWise", "a INT8", "b INT8")) == ()
    assert findings("PLAN103", conv(56, 16, "out FP32")) == ()
    assert findings("PLAN103", conv(56, 16), layer("Reformat", "a FP16", "out FP32")) == ()
    assert findings("PLAN103", layer("gemm", "in FP16", "a FP16"), READER, END) == ()


def test_unfused_qdq_found() -> None:
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
    add = layer("Convolution", "b INT8 1x16x8x8, a FP16 1x16x8x8", "out FP16 1x16x8x8")
    (one,) = findings("PLAN106", CONV, QUANTIZE, add, times=(0.4, 0.2, 0.4))
    assert one.message.endswith(": another layer reads the same tensor in floats")
    assert "residual branch" in one.advice
    assert (one.layers, one.evidence["partner"]) == ((1, 0), "conv")
    spared = 0.4 * 1024 / (1024 + 2048)  # the bytes that an INT8 output would not have
    assert one.saving.bound_ms == pytest.approx(0.2 + spared)
    add = layer("Convolution", "in INT8 1x16x8x8, r FP16 1x16x8x8", "a FP16 1x16x8x8", name="add")
    end = layer("Convolution", "b INT8 1x16x8x8", "out INT8 1x16x8x8")
    (one,) = findings("PLAN106", add, QUANTIZE, end, inputs="in r")
    assert one.message.endswith(": the layer before it adds a residual in floats")
    back = layer("Reformat", "a INT8 1x16x8x8", "b FP32 1x16x8x8", Origin="QDQ")
    first = layer("Convolution", "in INT8 1x16x8x8", "a INT8 1x16x8x8")
    add = layer("Convolution", "a INT8 1x16x8x8, b FP32 1x16x8x8", "out FP32 1x16x8x8")
    (one,) = findings("PLAN106", first, back, add)
    assert one.message.endswith(": a quantized layer adds it in floats")
    alone = layer("PointWise", "b FP32 1x16x8x8", "out FP32 1x16x8x8")
    (other,) = findings("PLAN106", first, back, alone)
    assert other.message.endswith(": the layer behind it runs in floats")
    (end,) = findings("PLAN106", first, back, outputs="b")
    assert end.message == "is a Dequantize on its own, INT8 to FP32"
    found = findings(
        "PLAN106",
        layer("Reformat", "in FP32", "a INT8", Origin="QDQ"),
        layer("PointWise", "a INT8", "out INT8"),
    )
    assert severities(found) == ["info"]
    assert found[0].message.endswith("of the engine's input")


CONV = layer("Convolution", "in INT8 1x16x8x8", "a FP16 1x16x8x8", name="conv")
QUANTIZE = layer("Reformat", "a FP16 1x16x8x8", "b INT8 1x16x8x8", Origin="QDQ", name="quantize")


def test_unfused_qdq_not_found() -> None:
    assert not findings(
        "PLAN106",
        layer("Scale", "in FP16", "a FP16"),
        layer("Scale", "a FP16", "b FP32"),
        layer("Reformat", "b FP32", "c INT8", Origin="REFORMAT"),
        layer("Reformat", "c INT8", "d INT8", Origin="QDQ"),
        layer("PointWise", "d INT8", "out FP16"),
    )


SINGLE = layer("Convolution", "in FP32", "a FP32")
PRODUCT = layer("gemm", "a FP32", "b FP32")


def test_whole_fp32_found() -> None:
    pool = layer("Pooling", "b FP32", "c FP32")
    (found,) = findings("PLAN120", SINGLE, PRODUCT, pool, times=(1.0, 0.5, 0.5))
    assert found.layers == (0, 1)
    assert (found.saving.bound_ms, found.severity.value) == (0.75, "info")
    (found,) = findings("PLAN120", SINGLE, PRODUCT)
    assert found.saving.bound_ms is None


def test_whole_fp32_not_found_where_one_layer_is_reduced() -> None:
    assert findings("PLAN120", SINGLE, layer("gemm", "a FP16", "b FP16")) == ()
    assert findings("PLAN120", layer("Pooling", "in FP32", "a FP32")) == ()
    pool = layer("Pooling", "a FP32", "c FP32")
    assert findings("PLAN120", SINGLE, pool, times=(0.04, 0.96)) == ()
