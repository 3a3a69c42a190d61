from __future__ import annotations

from tests.rules.made import findings, layer

WORK = layer("Convolution", "in FP16 1x8x4x4 NHWC8", "a FP16 1x8x4x4 NHWC8")


def test_found() -> None:
    copy = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "out FP16 1x8x4x4 NHWC8", name="copy")
    (one,) = findings("PLAN116", WORK, copy, times=(1.0, 0.25))
    assert (one.subject, one.layers, one.saving.bound_ms) == ("copy", (1,), 0.25)


def test_not_found() -> None:
    layout = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "out FP16 1x8x4x4 NCHW")
    dtype = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "out FP32 1x8x4x4 NHWC8")
    shape = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "out FP16 1x8x16 NHWC8")
    unknown = layer("Reformat", "a FP16 1x8x4x4", "out FP16 1x8x4x4")
    for one in (layout, dtype, shape, unknown):
        assert findings("PLAN116", WORK, one) == ()
    equal = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "out FP16 1x8x4x4 NHWC8")
    assert findings("PLAN116", WORK, equal, times=(1.0, 0.0)) == ()
