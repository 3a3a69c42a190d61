from __future__ import annotations

import pytest

from enginescope.analysis.layers.layer_sum import (
    of_plan_profile,
    plan_profiles,
    times_of_plan_profile,
)
from enginescope.core.errors import UsageError
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import LayerTiming, Plan, Profile
from tests.formats import plans

SUFFIXES = ("", " [profile 1]", " [profile 10]")


def several() -> Plan:
    layers = [
        {
            "Name": f"conv{suffix}",
            "LayerType": "CaskConvolution",
            "Inputs": [plans.tensor(f"image{suffix}", [1, 3], "Row major linear FP32")],
            "Outputs": [plans.tensor(f"scores{suffix}", [1, 3], "Row major linear FP32")],
        }
        for suffix in SUFFIXES
    ]
    names = [f"{name}{suffix}" for suffix in SUFFIXES for name in ("image", "scores")]
    return parse_plan(plans.encoded({"Layers": layers, "Bindings": names}), "a.json")[0]


def test_a_plan_of_one_profile_stays_as_it_is() -> None:
    plan, _ = parse_plan(plans.encoded(plans.tensorrt_10()), "a.json")
    assert plan_profiles(plan) == ()
    assert of_plan_profile(plan, 0) is plan


@pytest.mark.parametrize(("index", "suffix"), list(zip((0, 1, 10), SUFFIXES, strict=True)))
def test_a_profile_has_its_own_layers_and_tensors(index: int, suffix: str) -> None:
    plan = several()
    assert plan_profiles(plan) == (0, 1, 10)
    one = of_plan_profile(plan, index)
    assert [layer.name for layer in one.layers] == [f"conv{suffix}"]
    assert [io.tensor.name for io in one.io] == [f"image{suffix}", f"scores{suffix}"]


@pytest.mark.parametrize("index", [2, 100])
def test_a_profile_that_is_not_there(index: int) -> None:
    with pytest.raises(UsageError, match=f"profile {index}") as caught:
        of_plan_profile(several(), index)
    assert caught.value.hint == "it has: 0, 1, 10"


def test_times_go_with_their_profile() -> None:
    rows = tuple(
        LayerTiming(index=at, name=f"conv{suffix}", mean_ms=1.0 + at)
        for at, suffix in enumerate(SUFFIXES)
    )
    profile = Profile(source="trtexec", layers=rows, iterations=5)
    kept = times_of_plan_profile(profile, 10)
    assert [(one.name, one.mean_ms) for one in kept.layers] == [("conv [profile 10]", 3.0)]
    assert kept.iterations == 5
    alone = Profile(source="trtexec", layers=rows[:1])
    assert times_of_plan_profile(alone, 0) is alone
