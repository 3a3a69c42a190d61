from __future__ import annotations

from tests.rules.made import findings, layer


def test_found() -> None:
    found = findings(
        "PLAN108",
        layer("gemm", "x FP16 4x100, w FP16 100x64", "a FP16 4x64"),
        layer("MatrixMultiply", "a INT8 4x64, v INT8 65x64", "b INT8 4x65"),
        layer("gemm", "b FP8 2x4x30, u FP8 30x50", "y FP8 2x4x50"),
    )
    assert [one.message for one in found] == [
        "has K = 100, not a multiple of 8",
        "has N = 65, not a multiple of 16",
        "has K = 30 and N = 50, not a multiple of 16",
    ]
    assert found[0].evidence == {"K": 100, "N": 64, "multiple": 8}


def test_not_found() -> None:
    assert (
        findings(
            "PLAN108",
            layer("gemm", "in FP16 4x128, w FP16 128x64", "a FP16 4x64"),
            layer("gemm", "a FP16 ?x100, w2 FP16 100x65", "b FP16 ?x65"),
            layer("gemm", "b INT32 4x3, w3 INT32 3x3", "c INT32 4x3"),
            layer("kgen", "c FP16 4x3, w4 FP16 3x3", "out FP16 4x3"),
        )
        == ()
    )
    lone = layer("gemm", "x FP16 4x3, w FP16 3x3", "y FP16 4x3")
    assert findings("PLAN108", lone, capability="5.2") == ()


def test_the_model_s_interface_is_not_to_be_changed() -> None:
    assert not findings(
        "PLAN108",
        layer("gemm", "in FP16 4x100, w FP16 100x64", "a FP16 4x64"),
        layer("gemm", "a FP16 4x64, v FP16 64x1001", "b FP16 4x1001"),
        layer("SoftMax", "b FP16 4x1001", "out FP16 4x1001"),
    )
