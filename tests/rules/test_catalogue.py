import re
from pathlib import Path
from typing import Any

import pytest

from enginescope.core.errors import UsageError
from enginescope.rules import checks
from enginescope.rules.base import Finding, Rule, Severity
from enginescope.rules.catalogue import (
    HEADINGS,
    RULES,
    LayerIgnore,
    LintConfig,
    checked,
    config_of,
    paragraphs,
)
from enginescope.rules.checks.copies import reformat_converts_type


def test_every_rule_is_listed_once_and_explains_no_circle() -> None:
    files = {one.stem for one in Path(checks.__path__[0]).rglob("*.py")} - {"__init__"}
    assert {rule.check.__module__.rpartition(".")[2] for rule in RULES} == files
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)
    explains = {rule.code: rule.explains for rule in RULES}

    def below(code: str) -> set[str]:
        return {code} | {one for next_one in explains[code] for one in below(next_one)}

    for code, some in explains.items():
        assert all(code not in below(one) for one in some)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_says_what_a_reader_needs_and_has_its_tests(rule: Rule) -> None:
    assert re.fullmatch(r"(PLAN1|TIME2)\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert tuple(paragraphs(rule)) == HEADINGS
    doc = " ".join(rule.doc.lower().split())
    for text in paragraphs(rule).values():
        assert (text[-1], text[0].islower(), f": {text.lower()}" in doc) == (".", False, True)
    assert not rule.summary.endswith(".")
    assert not rule.advice.endswith(".")
    module, name = rule.check.__module__.split(".")[-1], rule.check.__name__
    file = Path(__file__).parent / "checks" / f"test_{module}.py"
    tests = file.read_text(encoding="utf-8").split("\ndef ")
    assert any(test.startswith(f"test_{name}_found") for test in tests)
    (absent,) = (test for test in tests if test.startswith(f"test_{name}_not_found"))
    assert "== ()" in absent or "assert not findings(" in absent


def finding(severity: Severity = Severity.WARNING) -> Finding:
    names = {"code": "PLAN104", "rule": "reformat-converts-type", "subject": "a"}
    return Finding(severity=severity, layers=(0,), message="", advice="", **names)


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
    shuffle = "x + (Unnamed Layer* 3) [Shuffle]"
    ignored = {"head*": "PLAN104", shuffle: "reformat-converts-type", "* [*]": "TIME"}
    config = LintConfig(
        layers=tuple(LayerIgnore(pattern=one, rules=(code,)) for one, code in ignored.items())
    )
    assert config.passes_over(reformat_converts_type, ["head", "header"])
    assert config.passes_over(reformat_converts_type, [shuffle])
    assert not config.passes_over(reformat_converts_type, ["head", "tail"])
    assert not config.passes_over(reformat_converts_type, ["tail [Shuffle]"])
    assert not config.passes_over(reformat_converts_type, [])
    assert not LintConfig().passes_over(reformat_converts_type, ["head"])
    config = LintConfig(layers=(LayerIgnore(pattern="a [Shuf*]", rules=("PLAN104",)),))
    assert config.passes_over(reformat_converts_type, ["a [Shuffle]"])
    assert not config.passes_over(reformat_converts_type, ["a S"])


def test_from_a_table() -> None:
    lists = {"select": ["PLAN1"], "ignore": ["data-copies"]}
    layers = (LayerIgnore(pattern="head.*", rules=("PLAN110",)),)
    assert config_of(
        {**lists, "level": "error", "layers": {"head.*": ["PLAN110"]}}, "x.toml"
    ) == LintConfig(select=("PLAN1",), ignore=("data-copies",), level="error", layers=layers)
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
def test_unknown_rules_are_refused(monkeypatch, name: str) -> None:
    monkeypatch.setattr("enginescope.rules.catalogue.broken_rules", lambda: {"mine": "no module"})
    with pytest.raises(UsageError, match="no rule") as caught:
        checked([name])
    assert caught.value.why == "no module"
