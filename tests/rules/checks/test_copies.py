from tests.rules.made import findings, layer, severities


def test_reformat_converts_type_found() -> None:
    found = findings(
        "PLAN104",
        layer("PointWise", "in FP16", "a FP16"),
        layer("Reformat", "a FP16 1x8 NCHW", "b FP32 1x8 NCHW", name="copy", Origin="REFORMAT"),
        layer("MyelinReformat", "b FP32", "c BF16"),
        layer("PointWise", "c BF16", "out BF16"),
        times=(0.1, 0.3, 0.2, 0.4),
    )
    assert [one.message for one in found] == ["converts FP16 to FP32", "converts FP32 to BF16"]
    assert [one.saving.bound_ms for one in found] == [0.3, 0.2]
    assert severities(found) == ["warning"] * 2
    assert found[0].evidence == {"from": "FP16", "to": "FP32", "origin": "REFORMAT"}
    found = findings(
        "PLAN104",
        layer("Reformat", "in FP32", "a FP16"),
        layer("Reformat", "a FP16", "b FP32"),
        layer("NoOp", "b FP32", "out FP32"),
    )
    assert severities(found) == ["info"] * 2
    assert "input or output of the engine" in found[0].advice


def test_reformat_converts_type_not_found() -> None:
    assert not findings(
        "PLAN104",
        layer("Reformat", "in FP16 1x8 NCHW", "a Half 1x8 NHWC8"),
        layer("Reformat", "a FP16", "b INT8", Origin="QDQ"),
        layer("Reformat", "b INT8", "", name="no output"),
        layer("Reformat", "b what", "c FP16"),
        layer("Slice", "c FP16", "out FP32"),
    )


def test_slice_converts_type_found() -> None:
    (one,) = findings("PLAN105", layer("Slice", "in FP16", "out FP32"), times=(0.5,))
    assert (one.message, one.saving.bound_ms) == ("converts FP16 to FP32", 0.5)


def test_slice_converts_type_not_found() -> None:
    same = layer("Slice", "in FP16", "a Half")
    assert findings("PLAN105", same, layer("Reformat", "a FP16", "out FP32")) == ()


BEFORE = layer("Convolution", "in FP16 1x8x4x4 NHWC8", "a FP16 1x8x4x4 NHWC8")
FIRST = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "b FP32 1x8x4x4 NCHW")
INNER = layer("PluginV2", "b FP32 1x8x4x4 NCHW", "c FP32 1x8x4x4 NCHW", name="plugin")
LAST = layer("Reformat", "c FP32 1x8x4x4 NCHW", "d FP16 1x8x4x4 NHWC8")
AFTER = layer("Convolution", "d FP16 1x8x4x4 NHWC8", "out FP16 1x8x4x4 NHWC8")


def test_reformat_sandwich_found() -> None:
    layers = (BEFORE, FIRST, INNER, LAST, AFTER)
    (one,) = findings("PLAN109", *layers, times=(1.0, 0.25, 5.0, 0.5, 1.0))
    assert (one.subject, one.layers) == ("plugin", (1, 3))
    assert one.message.endswith("(FP16 NHWC8 → FP32 NCHW and back)")
    assert one.saving.bound_ms == 0.75  # of both copies, not of the layer
    last = layer("Reformat", "c2 FP32 1x8x4x4 NCHW", "d FP16 1x8x4x4 NHWC8")
    for kind in ({"kind": "NoOp"}, {"kind": "Shuffle", "subtype": "NoOp"}):
        no_op = layer(reads="c FP32 1x8x4x4 NCHW", writes="c2 FP32 1x8x4x4 NCHW", **kind)
        assert len(findings("PLAN109", BEFORE, FIRST, INNER, no_op, last, AFTER)) == 1
    names = [f"Reformatting CopyNode for Input Tensor {at} to plugin" for at in (0, 1)]
    first = layer("Reformat", "a FP16 1x8 NHWC8", "b FP32 1x8 NCHW", name=names[0])
    second = layer("Reformat", "a FP16 1x8 NHWC8", "e FP32 1x8 NCHW", name=names[1])
    inner = layer("PluginV2", "b FP32 1x8 NCHW, e FP32 1x8 NCHW", "out FP32 1x8", name="plugin")
    layers = (BEFORE, first, second, inner, layer("PointWise", "b FP32 1x8 NCHW", "f FP32 1x8"))
    (one,) = findings("PLAN109", *layers, times=(1.0, 0.25, 0.5, 1.0, 1.0))
    assert (one.subject, one.layers, one.saving.bound_ms) == ("plugin", (1, 2), 0.75)
    assert one.message == "forces 2 Reformats (FP16 NHWC8 → FP32 NCHW)"
    copy = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "b FP16 1x8x4x4 NCHW")
    inner = layer("PluginV2", "b FP16 1x8x4x4 NCHW", "out FP16 1x8x4x4 NCHW", name="plugin")
    (one,) = findings("PLAN109", BEFORE, copy, inner)
    assert one.message == "forces a Reformat (FP16 NHWC8 → FP16 NCHW)"
    assert one.severity.value == "warning"
    (border,) = findings("PLAN109", copy, inner, inputs="a")
    assert border.severity.value == "info"
    assert "--inputIOFormats" in border.advice


def test_reformat_sandwich_not_found() -> None:
    for kind, layout in (("Reformat", "NC/32HW32"), ("Convolution", "NHWC8")):
        other = layer(kind, "c FP32 1x8x4x4 NCHW", f"d FP16 1x8x4x4 {layout}")
        assert findings("PLAN109", BEFORE, FIRST, INNER, other, AFTER) == ()
    also = layer("PointWise", "b FP32", "e FP32")
    assert findings("PLAN109", BEFORE, FIRST, INNER, LAST, also, AFTER) == ()
    assert findings("PLAN109", BEFORE, FIRST, INNER, LAST, AFTER, outputs="c out") == ()
    assert findings("PLAN109", BEFORE, FIRST) == ()
    assert findings("PLAN109", BEFORE, FIRST, layer("Reformat", "b FP32", "out FP16")) == ()
    bare = layer("Reformat", "a what", "b FP32")
    assert findings("PLAN109", bare, INNER, layer("Reformat", "c FP32", "out what")) == ()


def test_data_copies_found() -> None:
    found = findings(
        "PLAN111",
        layer("Shuffle", "in FP16", "a FP16 4x4"),
        layer("Slice", "a FP16", "b FP16"),
        layer("kgen", "b FP16", "c FP16", tactic_name="__myl_TranReshMove_0x1234"),
        layer("kgen", "c FP16", "out FP16", name="__myl_Res_myl9_1"),
    )
    assert [one.layers for one in found] == [(0,), (1,), (2,), (3,)]
    assert found[0].message == "only moves data (Shuffle)"
    assert found[0].evidence == {"type": "Shuffle", "output_bytes": 32}


def test_data_copies_not_found() -> None:
    assert not findings(
        "PLAN111",
        layer("Reformat", "in FP16", "a FP16"),
        layer("kgen", "a FP16", "b FP16", tactic_name="__myl_ResAdd_0x12"),
        layer("kgen", "b FP16", "c FP16", name="my kernel"),
        layer("Shuffle", "c FP16", "out FP16"),
        times=(1.0, 1.0, 1.0, 0.0),
    )


CONSTANT = layer("Constant", "", "w FP32 64", name="weights")
COPIES = tuple(
    layer("MyelinReformat", "w FP32 64 NCHW", f"b{at} FP32 64 NCHW", name=f"Identity_{at}")
    for at in range(3)
)
CONV = layer("Convolution", "in FP32 1x64x8x8, b0 FP32 64", "out FP32 1x64x8x8", name="conv")


FOLDING = "fold constants (polygraphy surgeon sanitize --fold-constants), then build again"


def test_constant_copies_found() -> None:
    (one,) = findings("PLAN115", CONSTANT, *COPIES, CONV, times=(0.0, 0.1, 0.2, 0.3, 0.4))
    assert (one.layers, one.subject) == ((1, 2, 3), "3 layers (Identity_0 … Identity_2)")
    assert (one.message, one.advice) == ("copy constants at every inference", FOLDING)
    assert round(one.saving.bound_ms, 9) == 0.6
    cast = layer("Cast", "b0 FP32 64", "h FP16 64", name="cast")
    (one,) = findings("PLAN115", CONSTANT, COPIES[0], cast, layer("PointWise", "in FP16", "x FP16"))
    assert (one.layers, one.message) == ((1, 2), "compute constants at every inference")
    (bare,) = findings("PLAN115", layer("Slice", "table FP16 4", "part FP16 2", name="slice"), CONV)
    assert (bare.subject, bare.message) == ("slice", "computes a constant at every inference")


def test_constant_copies_not_found() -> None:
    assert findings("PLAN115", CONSTANT, CONV) == ()
    mixed = layer("PointWise", "w FP32 64, in FP32 64", "out FP32 64")
    assert findings("PLAN115", CONSTANT, mixed) == ()
    assert findings("PLAN115", CONSTANT, layer("NoOp", "w FP32 64", "v FP32 64"), CONV) == ()
    assert findings("PLAN115", layer("kgen", "", "out FP16 4")) == ()


WORK = layer("Convolution", "in FP16 1x8x4x4 NHWC8", "a FP16 1x8x4x4 NHWC8")


def test_equal_format_copy_found() -> None:
    copy = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "out FP16 1x8x4x4 NHWC8", name="copy")
    (one,) = findings("PLAN116", WORK, copy, times=(1.0, 0.25))
    assert (one.subject, one.layers, one.saving.bound_ms) == ("copy", (1,), 0.25)


def test_equal_format_copy_not_found() -> None:
    layout = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "out FP16 1x8x4x4 NCHW")
    dtype = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "out FP32 1x8x4x4 NHWC8")
    shape = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "out FP16 1x8x16 NHWC8")
    for one in (layout, dtype, shape, layer("Reformat", "a FP16 1x8x4x4", "out FP16 1x8x4x4")):
        assert findings("PLAN116", WORK, one) == ()
    equal = layer("Reformat", "a FP16 1x8x4x4 NHWC8", "out FP16 1x8x4x4 NHWC8")
    assert findings("PLAN116", WORK, equal, times=(1.0, 0.0)) == ()
