from __future__ import annotations

from tests.rules.made import findings, layer


def test_found() -> None:
    (one,) = findings("PLAN105", layer("Slice", "in FP16", "out FP32"), times=(0.5,))
    assert one.message == "converts FP16 to FP32"
    assert one.saving.bound_ms == 0.5


def test_not_found() -> None:
    same = layer("Slice", "in FP16", "a Half")
    other = layer("Reformat", "a FP16", "out FP32")
    assert findings("PLAN105", same, other) == ()
