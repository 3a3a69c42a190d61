"""docs/reference/gate.md names what there is."""

import re
from pathlib import Path

from enginescope.analysis.verdicts.compared_figures import GATE_METRICS
from enginescope.records.verdict.gate import FAILING, GateOutcome
from enginescope.render.verdicts.gate_answer import RULES

DOCS = Path(__file__).parents[2] / "docs"
GATE = (DOCS / "reference" / "gate.md").read_text(encoding="utf-8")


def rows(text: str, heading: str) -> list[list[str]]:
    part = text.partition(heading)[2].partition("\n\n")[0]
    return [
        re.split(r"(?<!\\)\|", line)[1:-1] for line in part.splitlines() if line.startswith("|")
    ]


def test_outcomes_and_which_of_them_fail() -> None:
    table = rows(GATE, "| outcome | fails | when |")
    told = {row[0].strip().partition(" (")[0]: row[1].strip() for row in table}
    told.pop("---", None)
    assert set(told) == {one.value for one in GateOutcome}
    assert {name for name, fails in told.items() if fails == "yes"} == {
        one.value for one in FAILING
    }


def test_metrics_and_rules() -> None:
    metrics = GATE.partition("## Metrics\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([a-z]+_?[a-z]*|p\d\d)`", metrics)) <= set(GATE_METRICS)
    for code, *_ in RULES:
        assert f"`{code}`" in GATE
