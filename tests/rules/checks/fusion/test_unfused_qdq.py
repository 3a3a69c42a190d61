from __future__ import annotations

from tests.rules.made import findings, layer, severities


def test_found() -> None:
    found = findings(
        "PLAN106",
        layer("PointWise", "in FP16", "a FP16"),
        layer("Scale", "a FP16", "b INT8"),
        layer("Dequantize", "b INT8", "c FP16"),
        layer("Reformat", "c FP16", "d FP8", Origin="QDQ"),
        layer("PointWise", "d FP8", "out FP16"),
    )
    assert [one.message for one in found] == [
        "is a Quantize on its own, FP16 to INT8",
        "is a Dequantize on its own, INT8 to FP16",
        "is a Quantize on its own, FP16 to FP8",
    ]
    assert severities(found) == ["warning"] * 3


def test_of_the_engine_s_input_it_is_info() -> None:
    found = findings(
        "PLAN106",
        layer("Reformat", "in FP32", "a INT8", Origin="QDQ"),
        layer("PointWise", "a INT8", "out INT8"),
    )
    assert severities(found) == ["info"]
    assert found[0].message.endswith("of the engine's input")


def test_not_found() -> None:
    assert (
        findings(
            "PLAN106",
            layer("Scale", "in FP16", "a FP16"),
            layer("Scale", "a FP16", "b FP32"),
            layer("Reformat", "b FP32", "c INT8", Origin="REFORMAT"),
            layer("Reformat", "c INT8", "d INT8", Origin="QDQ"),
            layer("PointWise", "d INT8", "out FP16"),
        )
        == ()
    )
