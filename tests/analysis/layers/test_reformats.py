from typing import Any

import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.analysis.layers.layer_table import layer_rows
from enginescope.analysis.layers.reformats import ReformatLayer, reformats, reformats_by
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.plan.plan import LayerTiming, Plan, Profile
from tests.formats import plans

FP32 = "Row major linear FP32"
HALF8 = "Channel major FP16 format where channel % 8 == 0"


def copying(name: str, before: str, after: str, **more: Any) -> dict[str, Any]:
    return {
        "Name": name,
        "LayerType": "Reformat",
        "Inputs": [plans.tensor(f"{name}.in", [1, 3, 8, 8], before)],
        "Outputs": [plans.tensor(f"{name}.out", [1, 3, 8, 8], after)],
        **more,
    }


def found_in(*layers: dict[str, Any]) -> tuple[ReformatLayer, ...]:
    plan: Plan = parse_plan(plans.encoded({"Layers": list(layers)}), "a.json")[0]
    times = tuple(
        LayerTiming(index=at, name=layer["Name"], mean_ms=1.0 + at)
        for at, layer in enumerate(layers)
    )
    return reformats(plan, layer_rows(plan, Profile(source="trtexec", layers=times)))


def test_what_a_reformat_changes_and_what_is_not_known() -> None:
    both, layout, nothing = found_in(
        copying("a", FP32, HALF8, Origin="REFORMAT"),
        copying("b", HALF8, "Row major linear FP16 format", Origin="QDQ"),
        copying("c", FP32, FP32, LayerType="MyelinReformat"),
    )
    assert (both.conversion, both.changes_type, both.changes_layout) == (
        "FP32 NCHW → FP16 NHWC8",
        True,
        True,
    )
    assert (layout.changes_type, layout.changes_layout) == (False, True)
    assert (nothing.changes_type, nothing.changes_layout) == (False, False)
    assert [one.origin for one in (both, layout, nothing)] == ["REFORMAT", "QDQ", None]
    assert [one.time_ms for one in (both, layout, nothing)] == [1.0, 2.0, 3.0]
    bare, novel = found_in(
        {"Name": "a", "LayerType": "Reformat", "Origin": 3}, copying("b", "Novel", "Half")
    )
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
    assert [(one.key, one.layers, one.time_ms, one.share_pct) for one in shares] == [
        ("QDQ", 2, 3.0, 25.0),
        (None, 1, 3.0, 25.0),
    ]
    assert reformats_by(found[:1], lambda one: one.origin, None)[0].share_pct is None
    plan, _ = parse_plan(plans.encoded({"Layers": [copying("a", FP32, HALF8)]}), "a.json")
    found = reformats(plan, layer_rows(plan, None))
    (share,) = reformats_by(found, lambda one: one.conversion, None)
    assert (share.layers, share.time_ms, share.share_pct) == (1, None, None)


def test_recorded_example(shared) -> None:
    stem = shared / "trex-examples" / "mobilenet.qat.onnx.engine"
    plan, _ = parse_plan(stem.with_name(f"{stem.name}.graph.json").read_bytes(), "a")
    times, _ = parse_profile(stem.with_name(f"{stem.name}.profile.json").read_bytes(), "b")
    found = reformats(plan, layer_rows(plan, times))
    first = found[0]
    assert (first.name, first.origin) == ("QuantizeLinear_2", "QDQ")
    assert first.conversion == "FP32 NCHW → INT8 NC/4HW4"
    shares = reformats_by(found, lambda one: one.origin, layer_times(times).sum_ms)
    assert [(one.key, one.layers) for one in shares] == [("QDQ", 17), ("REFORMAT", 1)]
    assert sum(one.time_ms or 0.0 for one in shares) == pytest.approx(0.082539, abs=1e-6)
