from typing import Any

import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.analysis.layers import layer_sum, layer_table
from enginescope.analysis.layers.reformats import ReformatLayer, reformats, reformats_by
from enginescope.core.errors import UsageError
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from tests.formats import plans
from tests.render.runs import imported_run


def test_a_plan_or_a_profile_alone_says_what_it_knows() -> None:
    assert layer_table.layer_rows(None, None) == ()
    rows = layer_table.layer_rows(imported_run().plan, None)
    assert [row.precision for row in rows] == ["INT8", "INT8", "FP32", "FP16"]
    assert all(row.time_ms is None and row.share_pct is None and row.in_plan for row in rows)
    timing = LayerTiming(index=0, name="a", mean_ms=2.0, kind="Conv", provider="CPU")
    (row,) = layer_table.layer_rows(None, Profile(source="onnxruntime", layers=(timing,)))
    assert row == layer_table.LayerRow(
        index=0, name="a", type="Conv", provider="CPU", time_ms=2.0, share_pct=100.0
    )
    plan = Plan(name="p", layers=(Layer(index=0, name="a"),), source_schema="names-only")
    (row,) = layer_table.layer_rows(plan, None)
    assert row.type is None


def test_shares_and_groups_are_of_the_sum() -> None:
    layers = (
        LayerTiming(index=0, name="Loop", mean_ms=9.0, is_container=True),
        LayerTiming(index=1, name="a", mean_ms=1.0),
        LayerTiming(index=2, name="b", mean_ms=3.0),
    )
    rows = layer_table.layer_rows(None, Profile(source="onnxruntime", layers=layers))
    assert [row.share_pct for row in rows] == [None, 25.0, 75.0]
    assert rows[0].is_container
    assert layer_table.time_by(ROWS, lambda row: row.type) == (
        layer_table.TimeShare(key="Conv", layers=2, time_ms=5.0, share_pct=62.5),
        layer_table.TimeShare(key="Add", layers=1, time_ms=2.0, share_pct=25.0),
        layer_table.TimeShare(key=None, layers=1, time_ms=1.0, share_pct=12.5),
    )
    assert layer_table.time_by((ROWS[4],), lambda row: row.type) == ()
    row = layer_table.LayerRow(index=0, name="a", time_ms=0.0)
    assert layer_table.time_by((row,), lambda row: row.type)[0].share_pct is None


def test_joined_rows_have_both_sides_and_untimed_ones_come_last() -> None:
    run = imported_run()
    rows = layer_table.layer_rows(run.plan, run.profile)
    assert (rows[0].onnx_nodes, rows[0].time_ms) == (("Conv_0", "Relu_1"), 0.3)
    assert sum(row.share_pct for row in rows) == pytest.approx(100)
    plan = Plan(name="p", layers=(Layer(index=0, name="a", type="Convolution"),))
    rows = layer_table.layer_rows(plan, plans.profile(("stranger", 1.0), ("a", 2.0)))
    found = [(row.name, row.in_plan, row.time_ms) for row in rows]
    assert found == [("a", True, 2.0), ("stranger", False, 1.0)]
    rows = tuple(
        layer_table.LayerRow(index=i, name=str(i), time_ms=time)
        for i, time in enumerate((None, 1.0, 3.0, 0.0, None))
    )
    assert [row.index for row in layer_table.slowest_first(rows)] == [2, 1, 3, 0, 4]


def plan(*names: str) -> Plan:
    layers = tuple(Layer(index=index, name=name) for index, name in enumerate(names))
    return Plan(name="p", layers=layers)


def profile(*names: str) -> Profile:
    return plans.profile(*((name, float(at)) for at, name in enumerate(names)))


def joined(layers: Plan, times: Profile) -> tuple[list[int | None], list[str]]:
    """Index of the timing of each layer, and the names left over."""
    found = layer_table.attribute(layers, times)
    assert [one.layer for one in found.layers] == list(layers.layers)
    indices = [one.timing.index if one.timing else None for one in found.layers]
    return indices, [one.name for one in found.unmatched]


def test_layers_and_times_are_joined_by_name_and_occurrence() -> None:
    assert joined(plan("a", "b", "c"), profile("c", "a", "b")) == ([1, 2, 0], [])
    assert joined(plan("a", "b", "a"), profile("a", "b", "a")) == ([0, 1, 2], [])
    assert joined(plan("a", "b"), profile("x", "b")) == ([None, 1], ["x"])
    assert joined(plan("a", "b", "a", "a"), profile("a", "a", "b")) == ([0, 2, 1, None], [])
    assert joined(plan("a"), profile("a", "a")) == ([0], ["a"])
    assert joined(plan("a+b", "a + b"), profile("a + b", "a+b")) == ([1, 0], [])
    assert joined(plan("a"), profile("b")) == ([None], ["b"])
    assert joined(plan(), profile("b")) == ([], ["b"])


@pytest.mark.parametrize(
    "other", ["conv\x1frelu", "conv+relu", "conv + relu", "conv\x1e relu", "conv relu"]
)
def test_other_joints_between_fused_names(other: str) -> None:
    assert joined(plan("conv\x1erelu"), profile(other)) == ([0], [])


SUFFIXES = ("", " [profile 1]", " [profile 10]")


def several() -> Plan:
    def tensors(name: str) -> list[plans.Tensor]:
        return [plans.tensor(name, [1, 3], "Row major linear FP32")]

    layers = [
        {
            "Name": f"conv{suffix}",
            "LayerType": "CaskConvolution",
            "Inputs": tensors(f"image{suffix}"),
            "Outputs": tensors(f"scores{suffix}"),
        }
        for suffix in SUFFIXES
    ]
    names = [f"{name}{suffix}" for suffix in SUFFIXES for name in ("image", "scores")]
    return plans.parsed({"Layers": layers, "Bindings": names})


@pytest.mark.parametrize(("index", "suffix"), list(zip((0, 1, 10), SUFFIXES, strict=True)))
def test_a_profile_has_its_own_layers_and_tensors(index: int, suffix: str) -> None:
    plan = several()
    assert layer_sum.plan_profiles(plan) == (0, 1, 10)
    one = layer_sum.of_plan_profile(plan, index)
    assert [layer.name for layer in one.layers] == [f"conv{suffix}"]
    assert [io.tensor.name for io in one.io] == [f"image{suffix}", f"scores{suffix}"]


@pytest.mark.parametrize("index", [2, 100])
def test_a_profile_that_is_not_there(index: int) -> None:
    with pytest.raises(UsageError, match=f"profile {index}") as caught:
        layer_sum.of_plan_profile(several(), index)
    assert caught.value.hint == "it has: 0, 1, 10"


def test_times_go_with_their_profile() -> None:
    rows = [(f"conv{suffix}", 1.0 + at) for at, suffix in enumerate(SUFFIXES)]
    kept = layer_sum.times_of_plan_profile(plans.profile(*rows, iterations=5), 10)
    assert [(one.name, one.mean_ms) for one in kept.layers] == [("conv [profile 10]", 3.0)]
    assert kept.iterations == 5
    alone = plans.profile(rows[0])
    assert layer_sum.times_of_plan_profile(alone, 0) is alone
    plan = plans.parsed(plans.tensorrt_10())
    assert layer_sum.plan_profiles(plan) == ()
    assert layer_sum.of_plan_profile(plan, 0) is plan


ROWS = (
    layer_table.LayerRow(index=0, name="a", type="Conv", time_ms=1.0),
    layer_table.LayerRow(index=1, name="b", type="Add", time_ms=2.0),
    layer_table.LayerRow(index=2, name="c", type="Conv", time_ms=4.0),
    layer_table.LayerRow(index=3, name="d", time_ms=1.0),
    layer_table.LayerRow(index=4, name="e", type="Conv"),
    layer_table.LayerRow(index=5, name="f", type="Loop", time_ms=9.0, is_container=True),
)


def row(
    index: int, tactic: str | None, time_ms: float | None, **more: object
) -> layer_table.LayerRow:
    fields = {"type": "kgen", "in_plan": True, "tactic": tactic, "time_ms": time_ms, **more}
    return layer_table.LayerRow(index=index, name=f"l{index}", **fields)


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
    assert layer_table.tactic_family(name) == family


def test_names_that_differ_in_their_hash_are_one() -> None:
    rows = [
        row(0, "__myl_Mul_0xaa", 1.0),
        row(1, "__myl_Mul_0xbb", 2.0, type="gemm"),
        row(2, "conv", 4.0),
        row(3, None, 1.0),
    ]
    found = layer_table.tactic_shares(rows)
    assert [(one.tactic, one.layers, one.variants, one.time_ms) for one in found] == [
        ("conv", 1, 1, 4.0),
        ("__myl_Mul", 2, 2, 3.0),
        (None, 1, 0, 1.0),
    ]
    assert [one.share_pct for one in found] == [50.0, 37.5, 12.5]
    assert found[1].types == ("gemm", "kgen")
    rows = [row(0, "conv", 3.0), row(1, None, 1.0, is_inert=True), row(2, "a", 9.0, in_plan=False)]
    found = layer_table.tactic_shares(rows)
    assert [(one.tactic, one.share_pct) for one in found] == [("conv", 100 * 3 / 13)]


def test_without_times_the_most_used_goes_first() -> None:
    found = layer_table.tactic_shares([row(0, "a", None), row(1, "b", None), row(2, "b", None)])
    shares = [(one.tactic, one.time_ms, one.share_pct) for one in found]
    assert shares == [("b", None, None), ("a", None, None)]


FP32 = "Row major linear FP32"
HALF8 = "Channel major FP16 format where channel % 8 == 0"


def copying(name: str, before: str, after: str, **more: Any) -> dict[str, Any]:
    ends = zip(("Inputs", "Outputs"), ("in", "out"), (before, after), strict=True)
    tensors = {
        side: [plans.tensor(f"{name}.{end}", [1, 3, 8, 8], text)] for side, end, text in ends
    }
    return {"Name": name, "LayerType": "Reformat", **tensors, **more}


def found_in(*layers: dict[str, Any], is_timed: bool = True) -> tuple[ReformatLayer, ...]:
    plan = plans.parsed({"Layers": list(layers)})
    times = plans.profile(*((layer["Name"], 1.0 + at) for at, layer in enumerate(layers)))
    return reformats(plan, layer_table.layer_rows(plan, times if is_timed else None))


def test_what_a_reformat_changes_and_what_is_not_known() -> None:
    both, layout, nothing = found_in(
        copying("a", FP32, HALF8, Origin="REFORMAT"),
        copying("b", HALF8, "Row major linear FP16 format", Origin="QDQ"),
        copying("c", FP32, FP32, LayerType="MyelinReformat"),
    )
    assert both.conversion == "FP32 NCHW → FP16 NHWC8"
    assert (both.changes_type, both.changes_layout) == (True, True)
    assert (layout.changes_type, layout.changes_layout) == (False, True)
    assert (nothing.changes_type, nothing.changes_layout) == (False, False)
    assert [one.origin for one in (both, layout, nothing)] == ["REFORMAT", "QDQ", None]
    assert [one.time_ms for one in (both, layout, nothing)] == [1.0, 2.0, 3.0]
    bare = {"Name": "a", "LayerType": "Reformat", "Origin": 3}
    bare, novel = found_in(bare, copying("b", "Novel", "Half"))
    assert (bare.source, bare.target, bare.origin) == ("not known", "not known", None)
    assert (novel.source, novel.target, novel.changes_type) == ("not known", "FP16", None)
    assert found_in(plans.convolution(), plans.no_op()) == ()


def test_groups_by_time_then_by_number() -> None:
    found = found_in(
        copying("a", FP32, HALF8, Origin="QDQ"),
        copying("b", FP32, HALF8, Origin="QDQ"),
        copying("c", FP32, HALF8),
    )
    shares = reformats_by(found, lambda one: one.origin, 12.0)
    rows = [(one.key, one.layers, one.time_ms, one.share_pct) for one in shares]
    assert rows == [("QDQ", 2, 3.0, 25.0), (None, 1, 3.0, 25.0)]
    assert reformats_by(found[:1], lambda one: one.origin, None)[0].share_pct is None
    found = found_in(copying("a", FP32, HALF8), is_timed=False)
    (share,) = reformats_by(found, lambda one: one.conversion, None)
    assert (share.layers, share.time_ms, share.share_pct) == (1, None, None)


def test_recorded_example(shared) -> None:
    files = shared / "trex-examples", "mobilenet.qat.onnx.engine"
    plan, times = plans.recorded(*files), plans.recorded_times(*files)
    found = reformats(plan, layer_table.layer_rows(plan, times))
    first = found[0]
    assert (first.name, first.origin) == ("QuantizeLinear_2", "QDQ")
    assert first.conversion == "FP32 NCHW → INT8 NC/4HW4"
    shares = reformats_by(found, lambda one: one.origin, layer_times(times).sum_ms)
    assert [(one.key, one.layers) for one in shares] == [("QDQ", 17), ("REFORMAT", 1)]
    assert sum(one.time_ms or 0.0 for one in shares) == pytest.approx(0.082539, abs=1e-6)
