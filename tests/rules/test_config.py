from typing import Any

import pytest

from enginescope.core.errors import UsageError
from enginescope.rules.base import Finding, Severity
from enginescope.rules.catalogue import RULES, LayerIgnore, LintConfig, checked, config_of
from enginescope.rules.checks.copies import reformat_converts_type


def finding(severity: Severity = Severity.WARNING) -> Finding:
    return Finding(
        code="PLAN104",
        rule="reformat-converts-type",
        severity=severity,
        subject="a",
        layers=(0,),
        message="",
        advice="",
    )


def codes(**options: Any) -> list[str]:
    return [rule.code for rule in LintConfig(**options).rules()]


def test_rules_are_told_by_code_beginning_name_and_level() -> None:
    assert codes() == [rule.code for rule in RULES]
    assert codes(select=("plan104", "tiny-kernels")) == ["PLAN104", "TIME202"]
    assert all(code.startswith("TIME") for code in codes(select=("TIME",)))
    assert codes(select=("TIME",), ignore=("TIME202", "profile-mismatch")) == [
        *("TIME204", "TIME205", "TIME206")
    ]
    assert "PLAN104" not in codes(ignore=("PLAN1",))
    info, error = finding(Severity.INFO), finding(Severity.ERROR)
    assert not LintConfig().is_bad(info)
    assert LintConfig().is_bad(finding())
    assert LintConfig(level="info").is_bad(info)
    assert not LintConfig(level="error").is_bad(finding())
    assert LintConfig(level="error").is_bad(error)
    assert not LintConfig(level="never").is_bad(error)


def test_layers_are_passed_over_by_name_and_pattern() -> None:
    config = LintConfig(
        layers=(
            LayerIgnore(pattern="head*", rules=("PLAN104",)),
            LayerIgnore(
                pattern="x + (Unnamed Layer* 3) [Shuffle]", rules=("reformat-converts-type",)
            ),
            LayerIgnore(pattern="* [*]", rules=("TIME",)),
        )
    )
    assert config.passes_over(reformat_converts_type, ["head", "header"])
    assert config.passes_over(reformat_converts_type, ["x + (Unnamed Layer* 3) [Shuffle]"])
    assert not config.passes_over(reformat_converts_type, ["head", "tail"])
    assert not config.passes_over(reformat_converts_type, ["tail [Shuffle]"])
    assert not config.passes_over(reformat_converts_type, [])
    assert not LintConfig().passes_over(reformat_converts_type, ["head"])
    config = LintConfig(layers=(LayerIgnore(pattern="a [Shuf*]", rules=("PLAN104",)),))
    assert config.passes_over(reformat_converts_type, ["a [Shuffle]"])
    assert not config.passes_over(reformat_converts_type, ["a S"])


def test_from_a_table() -> None:
    table = {
        "select": ["PLAN1"],
        "ignore": ["data-copies"],
        "level": "error",
        "layers": {"head.*": ["PLAN110"]},
    }
    assert config_of(table, "x.toml") == LintConfig(
        select=("PLAN1",),
        ignore=("data-copies",),
        level="error",
        layers=(LayerIgnore(pattern="head.*", rules=("PLAN110",)),),
    )
    assert config_of({}, "x.toml") == LintConfig()


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"ignor": []}, "did you mean ignore"),
        ({"level": "fatal"}, "info, warning, error, never"),
        ({"level": []}, "info, warning, error, never"),
        ({"select": "PLAN1"}, "not a list of rules"),
        ({"ignore": [1]}, "not a list of rules"),
        ({"ignore": ["PLAN999"]}, "PLAN999"),
        ({"layers": ["head"]}, "not a table"),
        ({"layers": {"head": "PLAN110"}}, "not a list of rules"),
        ({"layers": {"head": ["tiny-kernel"]}}, "did you mean tiny-kernels"),
    ],
)
def test_what_is_wrong_in_a_table_is_named(table: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        config_of(table, "x.toml")
    assert caught.value.what.startswith("x.toml")
    assert says in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("name", ["", "PLAN9", "copies"])
def test_unknown_rules_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no rule"):
        checked([name])
