from __future__ import annotations

import pytest

from enginescope.analysis.layers.layer_table import LayerRow, tactic_family, tactic_shares


def row(index: int, tactic: str | None, time_ms: float | None, **more: object) -> LayerRow:
    fields = {"type": "kgen", "in_plan": True, **more}
    return LayerRow(index=index, name=f"l{index}", tactic=tactic, time_ms=time_ms, **fields)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("__myl_Res_0x63adb2bae59ff89a94fc133e2755c132", "__myl_Res"),
        ("sm80_xmma_fprop_tilesize64x64x64_t1r1s1", "sm80_xmma_fprop_tilesize64x64x64_t1r1s1"),
        ("0x00000000000003e8", "0x00000000000003e8"),
        ("_0xff", "_0xff"),
    ],
)
def test_only_a_hash_at_the_end_is_cut(name: str, family: str) -> None:
    assert tactic_family(name) == family


def test_names_that_differ_in_their_hash_are_one() -> None:
    rows = [
        row(0, "__myl_Mul_0xaa", 1.0),
        row(1, "__myl_Mul_0xbb", 2.0, type="gemm"),
        row(2, "conv", 4.0),
        row(3, None, 1.0),
    ]
    found = tactic_shares(rows)
    assert [(one.tactic, one.layers, one.variants, one.time_ms) for one in found] == [
        ("conv", 1, 1, 4.0),
        ("__myl_Mul", 2, 2, 3.0),
        (None, 1, 0, 1.0),
    ]
    assert [one.share_pct for one in found] == [50.0, 37.5, 12.5]
    assert found[1].types == ("gemm", "kgen")


def test_layers_that_launch_nothing_have_no_tactic_but_count_in_the_whole() -> None:
    rows = [row(0, "conv", 3.0), row(1, None, 1.0, is_inert=True), row(2, "a", 9.0, in_plan=False)]
    found = tactic_shares(rows)
    assert [(one.tactic, one.share_pct) for one in found] == [("conv", 100 * 3 / 13)]


def test_without_times_the_most_used_goes_first() -> None:
    found = tactic_shares([row(0, "a", None), row(1, "b", None), row(2, "b", None)])
    assert [(one.tactic, one.time_ms, one.share_pct) for one in found] == [
        ("b", None, None),
        ("a", None, None),
    ]
