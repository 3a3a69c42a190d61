from __future__ import annotations

from enginescope.model.plan import Plan
from enginescope.rules.base import Finding, LintInput
from enginescope.rules.config import LintConfig
from enginescope.rules.engine import lint
from tests.rules.made import layer, plan, profile, severities

PLAN = plan(
    *(layer("PointWise", "in FP16", f"{name} FP16", name=name) for name in "abc"),
    layer("shape_call", "", "", name="call"),
)


def found(*times: tuple[str, float], given: Plan = PLAN) -> tuple[Finding, ...]:
    config = LintConfig(select=("TIME203",))
    return lint(LintInput(plan=given, profile=profile(*times)), config).findings


def test_found() -> None:
    strange, untimed = found(("a", 1.0), ("b", 1.0), ("x", 0.5), ("y", 0.25))
    assert strange.message == "has 2 times whose layer the plan does not have"
    assert strange.stake_ms == 0.75
    assert strange.evidence["names"] == ["x", "y"]
    assert untimed.message == "has no time for 1 of 3 layers"
    assert (untimed.layers, untimed.stake_ms) == ((2,), None)
    assert severities((strange, untimed)) == ["warning"] * 2


def test_of_another_engine_it_is_an_error() -> None:
    assert severities(found(("x", 1.0), ("y", 1.0))) == ["error", "error"]


def test_not_found() -> None:
    assert found(("c", 1.0), ("a", 1.0), ("b", 0.0)) == ()
    assert found(("a", 1.0), ("b", 1.0), ("c", 1.0), ("call", 0.1), ("x", 0.0)) == ()
    assert lint(LintInput(plan=PLAN), LintConfig(select=("TIME203",))).findings == ()
    assert found(("a", 1.0), given=plan()) == ()


def test_only_the_profile_in_use_is_expected_to_have_times() -> None:
    two = plan(
        layer("PointWise", "in FP16", "a FP16", name="a", profile_index=0),
        layer("PointWise", "in FP16", "a1 FP16", name="a [profile 1]", profile_index=1),
    )
    assert found(("a", 1.0), given=two) == ()
