from __future__ import annotations

from tests.rules.made import findings, layer, severities

HALF = layer("Convolution", "in FP16", "a FP16")


def test_found() -> None:
    found = findings(
        "PLAN110",
        HALF,
        layer("gemm", "b FP32", "c FP32"),
        layer("kgen", "c FP32", "out FP32", tactic_name="__myl_MeanSub"),
        times=(1.0, 0.5, 0.25),
    )
    assert [one.saving.bound_ms for one in found] == [0.5, 0.125]
    assert severities(found) == ["warning", "info"]


def test_not_found() -> None:
    assert (
        findings(
            "PLAN110",
            HALF,
            layer("Reformat", "a FP16", "b FP32"),
            layer("Reformat", "b FP32", "c FP32"),
            layer("Shuffle", "c FP32", "d FP32"),
            layer("PointWise", "d FP32", "e FP16"),
            layer("PointWise", "e FP32", "f FP32", name="idle"),
            times=(1.0, 1.0, 1.0, 1.0, 1.0, 0.0),
        )
        == ()
    )


def test_not_in_a_plan_of_fp32() -> None:
    single = layer("Convolution", "in FP32", "a FP32")
    assert findings("PLAN110", single, layer("Reformat", "a FP16", "out FP32")) == ()
