from __future__ import annotations

import pytest

from tests.rules.made import findings, layer

FIRST = layer("Convolution", "in FP16 1x8x4x4", "a FP16 1x8x4x4", name="first")
IN = layer("Reformat", "a FP16 1x8x4x4", "b FP32 1x8x4x4", name="in")
POOL = layer("Pooling", "b FP32 1x8x4x4", "c FP32 1x8x1x1", name="pool")
FC = layer("PointWise", "c FP32 1x8x1x1", "d FP32 1x8x1x1", name="fc")
OUT = layer("Reformat", "d FP32 1x8x1x1", "e FP16 1x8x1x1", name="out")
LAST = layer("Convolution", "e FP16 1x8x1x1", "out FP16 1x8x1x1", name="last")


def test_found() -> None:
    times = (1.0, 0.1, 0.2, 0.4, 0.1, 1.0)
    (one,) = findings("PLAN117", FIRST, IN, POOL, FC, OUT, LAST, times=times)
    assert one.subject == "pool … fc"
    assert one.layers == (1, 2, 3, 4)
    assert (
        one.message == "is an island of 2 layers in FP32 in a plan of FP16, with 2 copies around it"
    )
    assert one.saving.bound_ms == pytest.approx(0.1 + 0.1 + (0.2 + 0.4) / 2)  # half of FP32's bytes


def test_found_up_to_the_engine_s_output() -> None:
    (one,) = findings("PLAN117", FIRST, IN, POOL, LAST, outputs="c out", inputs="in e")
    assert (one.subject, one.layers) == ("pool", (1, 2))


def test_found_behind_a_quantized_layer_that_writes_floats() -> None:
    product = layer("Convolution", "in INT8 1x8x4x4", "b FP16 1x8x4x4", name="product")
    pool = layer("Pooling", "b FP16 1x8x4x4", "c FP16 1x8x1x1", name="pool")
    back = layer("Reformat", "c FP16 1x8x1x1", "d INT8 1x8x1x1", Origin="QDQ")
    last = layer("Convolution", "d INT8 1x8x1x1", "out INT8 1x8x1x1")
    (one,) = findings("PLAN117", product, pool, back, last)
    assert (one.subject, one.layers) == ("pool", (0, 1, 2))


def test_not_found() -> None:
    half = layer("Pooling", "a FP16 1x8x4x4", "e FP16 1x8x1x1")
    assert findings("PLAN117", FIRST, half, LAST) == ()
    single = layer("Convolution", "in FP32 1x8x4x4", "a FP32 1x8x4x4")
    assert findings("PLAN117", single, layer("Pooling", "a FP32 1x8x4x4", "out FP32 1x8")) == ()
    at_input = layer("Pooling", "in FP32 1x8x4x4", "d FP32 1x8x1x1")
    assert findings("PLAN117", at_input, OUT, LAST) == ()
