from __future__ import annotations

from tests.rules.made import findings, layer


def test_found() -> None:
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


def test_not_found() -> None:
    assert (
        findings(
            "PLAN111",
            layer("Reformat", "in FP16", "a FP16"),
            layer("kgen", "a FP16", "b FP16", tactic_name="__myl_ResAdd_0x12"),
            layer("kgen", "b FP16", "c FP16", name="my kernel"),
            layer("Shuffle", "c FP16", "out FP16"),
            times=(1.0, 1.0, 1.0, 0.0),
        )
        == ()
    )
