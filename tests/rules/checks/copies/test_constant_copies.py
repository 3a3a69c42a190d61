from __future__ import annotations

from tests.rules.made import findings, layer

CONSTANT = layer("Constant", "", "w FP32 64", name="weights")
COPIES = tuple(
    layer("MyelinReformat", "w FP32 64 NCHW", f"b{at} FP32 64 NCHW", name=f"Identity_{at}")
    for at in range(3)
)
CONV = layer("Convolution", "in FP32 1x64x8x8, b0 FP32 64", "out FP32 1x64x8x8", name="conv")


def test_found() -> None:
    (one,) = findings("PLAN115", CONSTANT, *COPIES, CONV, times=(0.0, 0.1, 0.2, 0.3, 0.4))
    assert one.layers == (1, 2, 3)
    assert one.subject == "3 layers (Identity_0 … Identity_2)"
    assert one.message == "copy constants at every inference"
    assert (
        one.advice
        == "fold constants (polygraphy surgeon sanitize --fold-constants), then build again"
    )
    assert one.saving.bound_ms is not None
    assert round(one.saving.bound_ms, 9) == 0.6


def test_found_of_what_a_copy_writes_and_of_what_nothing_writes() -> None:
    cast = layer("Cast", "b0 FP32 64", "h FP16 64", name="cast")
    (one,) = findings("PLAN115", CONSTANT, COPIES[0], cast, layer("PointWise", "in FP16", "x FP16"))
    assert one.layers == (1, 2)
    assert one.message == "compute constants at every inference"
    (bare,) = findings("PLAN115", layer("Slice", "table FP16 4", "part FP16 2", name="slice"), CONV)
    assert (bare.subject, bare.message) == ("slice", "computes a constant at every inference")


def test_not_found() -> None:
    assert findings("PLAN115", CONSTANT, CONV) == ()
    mixed = layer("PointWise", "w FP32 64, in FP32 64", "out FP32 64")
    assert findings("PLAN115", CONSTANT, mixed) == ()
    assert findings("PLAN115", CONSTANT, layer("NoOp", "w FP32 64", "v FP32 64"), CONV) == ()
    assert findings("PLAN115", layer("kgen", "", "out FP16 4")) == ()
