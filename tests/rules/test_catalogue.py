import re
from pathlib import Path

import pytest

from enginescope.rules import checks
from enginescope.rules.base import Rule
from enginescope.rules.catalogue import HEADINGS, RULES, paragraphs


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
    assert all(text.endswith(".") for text in paragraphs(rule).values())
    assert not rule.summary.endswith(".")
    assert not rule.advice.endswith(".")
    module, name = rule.check.__module__.split(".")[-1], rule.check.__name__
    file = Path(__file__).parent / "checks" / f"test_{module}.py"
    tests = file.read_text(encoding="utf-8").split("\ndef ")
    assert any(test.startswith(f"test_{name}_found") for test in tests)
    assert any(test.startswith(f"test_{name}_not_found") and "== ()" in test for test in tests)
