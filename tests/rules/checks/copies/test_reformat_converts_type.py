from __future__ import annotations

from tests.rules.made import findings, layer, severities


def test_found() -> None:
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


def test_at_the_engine_s_border_it_is_info() -> None:
    found = findings(
        "PLAN104",
        layer("Reformat", "in FP32", "a FP16"),
        layer("Reformat", "a FP16", "b FP32"),
        layer("NoOp", "b FP32", "out FP32"),
    )
    assert severities(found) == ["info"] * 2
    assert "input or output of the engine" in found[0].advice


def test_not_found() -> None:
    assert (
        findings(
            "PLAN104",
            layer("Reformat", "in FP16 1x8 NCHW", "a Half 1x8 NHWC8"),
            layer("Reformat", "a FP16", "b INT8", Origin="QDQ"),
            layer("Reformat", "b INT8", "", name="no output"),
            layer("Reformat", "b what", "c FP16"),
            layer("Slice", "c FP16", "out FP32"),
        )
        == ()
    )
