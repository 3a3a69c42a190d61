import json

import pytest

from enginescope.analysis.claims.layer_claims import WholeRequest
from enginescope.analysis.plans.plan_view import ORDERS, Exploration, explore, ordered
from enginescope.core.errors import UsageError
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from tests.analysis.layers.test_layer_table import several
from tests.analysis.plans.test_plan_totals import GOLDEN
from tests.formats import plans


def profile(times: dict[str, float]) -> Profile:
    rows = tuple(
        LayerTiming(index=at, name=name, mean_ms=mean_ms)
        for at, (name, mean_ms) in enumerate(times.items())
    )
    return Profile(source="trtexec", layers=rows, iterations=7)


def tensorrt_10() -> Plan:
    return parse_plan(plans.encoded(plans.tensorrt_10()), "a.json")[0]


def names(found: Exploration, by: str) -> list[str]:
    return [one.row.name for one in ordered(found.layers, by)]


def test_plan_and_profile_together() -> None:
    times = {"copy for conv": 2.0, "conv + relu": 5.0, "squeeze": 0.0, "head_myl0_2": 3.0}
    found = explore("net", tensorrt_10(), profile(times), whole=WholeRequest("gpu_compute", 8.0))
    assert (found.name, found.plan_schema, found.iterations) == ("net", "trt8-10", 7)
    assert (found.time.sum_ms, found.time.raw_ms, found.time.ratio) == pytest.approx(
        (8.0, 10.0, 1.0)
    )
    assert [(one.key, one.time_ms) for one in found.by_type] == [
        ("Convolution", pytest.approx(4.0, rel=1e-3)),
        ("gemm", pytest.approx(2.4, rel=1e-3)),
        ("Reformat", pytest.approx(1.6, rel=1e-3)),
    ]
    assert [(one.key, one.layers) for one in found.by_precision] == [("FP16", 2), ("FP32", 1)]
    assert [one.tactic for one in found.tactics] == ["sm80_xmma_fprop", "sm80_xmma_gemm", None]
    assert [one.key for one in found.reformats_by_origin] == ["REFORMAT"]
    assert [one.tensor.name for one in tensorrt_10().inputs] == [one.name for one in found.inputs]
    assert found.notices == ()


def test_what_has_no_partner_is_told_and_a_plan_or_profile_alone_has_less() -> None:
    found = explore(
        "net", tensorrt_10(), profile({"copy for conv": 2.0, "stranger": 1.0, "other": 1.0})
    )
    told = {one.code: one for one in found.notices}
    assert told["W-LAYERS-UNTIMED"].evidence["layers"] == ["conv + relu", "head_myl0_2"]
    assert told["W-TIMES-UNMATCHED"].evidence == {"count": 2, "layers": ["stranger", "other"]}
    assert told["W-TIMES-UNMATCHED"].message.startswith("2 times have no layer")
    assert [one.row.name for one in found.layers[-2:]] == ["stranger", "other"]
    assert found.layers[-1].sizes is None
    plan = Plan(name="p", layers=(Layer(index=0, name="a"), Layer(index=1, name="b")))
    (notice,) = explore("p", plan, profile({"a": 1.0})).notices
    assert notice.message == "1 layer has no time in the plan and profile given: 'b'"
    found = explore("net", tensorrt_10(), None)
    assert (found.time, found.by_type, found.notices) == (None, (), ())
    assert found.totals.layers_by_type == {"Reformat": 1, "Convolution": 1, "gemm": 1}
    found = explore("net", None, profile({"a": 1.0, "b": 3.0}))
    assert (found.totals, found.tactics, found.plan_schema) == (None, (), None)
    assert names(found, "time") == ["b", "a"]


@pytest.mark.parametrize("index", [0, 1, 10])
def test_one_optimisation_profile_of_several(index: int) -> None:
    suffix = f" [profile {index}]" if index else ""
    given = profile({"conv": 1.0, "conv [profile 1]": 2.0, "conv [profile 10]": 11.0})
    found = explore("net", several(), given, plan_profile=index)
    assert [one.row.name for one in found.layers] == [f"conv{suffix}"]
    assert found.time.sum_ms == 1.0 + index
    assert (found.plan_profile, found.plan_profiles) == (index, (0, 1, 10))
    assert found.notices == ()


def test_orders_put_what_is_not_known_last_and_a_missing_profile_is_an_error() -> None:
    with pytest.raises(UsageError, match="profile 1"):
        explore("net", tensorrt_10(), None, plan_profile=1)
    found = explore("net", tensorrt_10(), profile({"copy for conv": 2.0, "head_myl0_2": 3.0}))
    assert names(found, "plan") == [one.row.name for one in found.layers]
    assert names(found, "time")[:2] == ["head_myl0_2", "copy for conv"]
    assert names(found, "name") == sorted(one.row.name for one in found.layers)
    assert names(found, "weights")[0] == "head_myl0_2"  # 256 × 10 halves beat 108
    for by in ORDERS:
        assert sorted(names(found, by)) == names(found, "name")
    found = explore("net", tensorrt_10(), profile({"stranger": 9.0}))
    assert names(found, "footprint")[-1] == "stranger"
    assert names(explore("n", None, profile({"a": 1.0})), "weights") == ["a"]


@pytest.mark.parametrize("name", [GOLDEN[0], *GOLDEN[2:]])
def test_examples_have_their_layers_and_no_notices(shared, name: str) -> None:
    golden = json.loads((shared / "goldens.json").read_text())["plans"][name]
    stem = shared / "trex-examples"
    plan, _ = parse_plan((stem / f"{name}.graph.json").read_bytes(), name)
    times, _ = parse_profile((stem / f"{name}.profile.json").read_bytes(), name)
    found = explore(name, plan, times)
    assert (found.totals.active_layers, found.notices) == (golden["n_layers_df"], ())
