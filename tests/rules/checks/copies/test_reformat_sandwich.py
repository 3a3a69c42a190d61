from __future__ import annotations

from tests.rules.made import findings, layer

BEFORE = layer("Convolution", "in FP16 1x8x4x4 NHWC8", "a FP16 1x8x4x4 NHWC8")
FIRST = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "b FP32 1x8x4x4 NCHW")
INNER = layer("PluginV2", "b FP32 1x8x4x4 NCHW", "c FP32 1x8x4x4 NCHW", name="plugin")
LAST = layer("Reformat", "c FP32 1x8x4x4 NCHW", "d FP16 1x8x4x4 NHWC8")
AFTER = layer("Convolution", "d FP16 1x8x4x4 NHWC8", "out FP16 1x8x4x4 NHWC8")


def test_found() -> None:
    layers = (BEFORE, FIRST, INNER, LAST, AFTER)
    (one,) = findings("PLAN109", *layers, times=(1.0, 0.25, 5.0, 0.5, 1.0))
    assert (one.subject, one.layers) == ("plugin", (1, 3))
    assert one.message.endswith("(FP16 NHWC8 → FP32 NCHW and back)")
    assert one.saving.bound_ms == 0.75  # of both copies, not of the layer


def test_found_through_no_ops() -> None:
    no_op = layer("NoOp", "c FP32 1x8x4x4 NCHW", "c2 FP32 1x8x4x4 NCHW")
    last = layer("Reformat", "c2 FP32 1x8x4x4 NCHW", "d FP16 1x8x4x4 NHWC8")
    assert len(findings("PLAN109", BEFORE, FIRST, INNER, no_op, last, AFTER)) == 1


def test_found_where_one_layer_is_named_by_several() -> None:
    names = [f"Reformatting CopyNode for Input Tensor {at} to plugin" for at in (0, 1)]
    first = layer("Reformat", "a FP16 1x8 NHWC8", "b FP32 1x8 NCHW", name=names[0])
    second = layer("Reformat", "a FP16 1x8 NHWC8", "e FP32 1x8 NCHW", name=names[1])
    inner = layer("PluginV2", "b FP32 1x8 NCHW, e FP32 1x8 NCHW", "out FP32 1x8", name="plugin")
    (one,) = findings("PLAN109", BEFORE, first, second, inner, times=(1.0, 0.25, 0.5, 1.0))
    assert (one.subject, one.layers, one.saving.bound_ms) == ("plugin", (1, 2), 0.75)
    assert one.message == "forces 2 Reformats (FP16 NHWC8 → FP32 NCHW)"


def test_found_where_the_layout_alone_changes() -> None:
    copy = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "b FP16 1x8x4x4 NCHW")
    inner = layer("PluginV2", "b FP16 1x8x4x4 NCHW", "out FP16 1x8x4x4 NCHW", name="plugin")
    (one,) = findings("PLAN109", BEFORE, copy, inner)
    assert one.message == "forces a Reformat (FP16 NHWC8 → FP16 NCHW)"
    (border,) = findings("PLAN109", copy, inner, inputs="a")
    assert border.severity.value == "info"
    assert "--inputIOFormats" in border.advice


def test_not_found() -> None:
    other = layer("Reformat", "c FP32 1x8x4x4 NCHW", "d FP16 1x8x4x4 NC/32HW32")
    assert findings("PLAN109", BEFORE, FIRST, INNER, other, AFTER) == ()
    also = layer("PointWise", "b FP32", "e FP32")
    assert findings("PLAN109", BEFORE, FIRST, INNER, LAST, also, AFTER) == ()
    assert findings("PLAN109", BEFORE, FIRST, INNER, LAST, AFTER, outputs="c out") == ()
    assert findings("PLAN109", BEFORE, FIRST) == ()
    assert findings("PLAN109", BEFORE, FIRST, layer("Reformat", "b FP32", "out FP16")) == ()
    bare = layer("Reformat", "a what", "b FP32")
    assert findings("PLAN109", bare, INNER, layer("Reformat", "c FP32", "out what")) == ()
