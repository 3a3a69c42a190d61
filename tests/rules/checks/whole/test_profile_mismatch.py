from __future__ import annotations

from enginescope.records.plan.plan import Plan
from enginescope.rules.base import Finding, LintInput
from enginescope.rules.catalogue import LintConfig
from enginescope.rules.engine import lint
from tests.rules.made import layer, plan, profile, severities

PLAN = plan(
    *(layer("PointWise", "in FP16", f"{name} FP16", name=name) for name in "abc"),
    layer("shape_call", "", "", name="call"),
)


def found(*times: tuple[str, float], given: Plan = PLAN) -> tuple[Finding, ...]:
    config = LintConfig(select=("TIME203",))
    return lint(LintInput(plan=given, profile=profile(*times)), config).findings


def test_found_times_without_a_layer_have_no_time_at_stake() -> None:
    (strange,) = found(("a", 1.0), ("b", 1.0), ("c", 1.0), ("x", 0.5), ("y", 0.25))
    assert strange.message == "has 2 times whose layer the plan does not have"
    assert strange.saving.bound_ms is None
    assert strange.evidence["names"] == ["x", "y"]
    assert severities((strange,)) == ["warning"]


def test_layers_without_a_time() -> None:
    (untimed,) = found(("a", 1.0), ("b", 1.0))
    assert untimed.message == "has no time for 1 of 3 layers"
    assert (untimed.layers, untimed.saving.bound_ms) == ((2,), None)
    assert severities((untimed,)) == ["warning"]


def test_a_profile_of_another_build_is_an_error() -> None:
    strange, untimed = found(("a", 1.0), ("b", 1.0), ("x", 0.5))
    assert strange.message == (
        "has 1 time whose layer the plan does not have: it is of another build, so no rule uses "
        "its times"
    )
    assert severities((strange, untimed)) == ["error", "error"]


def test_no_rule_uses_the_times_of_another_build() -> None:
    given = LintInput(plan=PLAN, profile=profile(("a", 9.0), ("b", 1.0), ("x", 0.5)))
    report = lint(given)
    assert report.sum_ms is None
    assert report.findings[0].code == "TIME203"
    assert all(finding.saving.bound_ms is None for finding in report.findings)


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
