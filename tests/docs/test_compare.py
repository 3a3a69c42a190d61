"""docs/explanation/comparison.md states what the code does, and the example of plans runs."""

import re
from pathlib import Path

import pytest

import enginescope as es
from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.plan_comparison.layer_changes import Cause
from enginescope.analysis.verdicts.comparability import ASSUMED_SCATTER_PCT
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS, THRESHOLD_PCT
from enginescope.judge.verdict import VerdictKind
from enginescope.render.compare.compare_page import MAX_CARRIED_PAIRS
from enginescope.render.plan_comparison.compare_phrases import _CAUSES
from enginescope.services.measurement.interleaved import PROCESS_STOP
from tests.analysis.compared_plans import run_a, run_b

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "explanation" / "comparison.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    _, found, after = TEXT.partition(f"## {title}\n")
    assert found, title
    return after.partition("\n## ")[0]


def first_cells(text: str) -> str:
    return "\n".join(line.split("|")[1] for line in text.splitlines() if line.startswith("|"))


def test_every_reason_of_a_difference_is_explained() -> None:
    text = section("Comparing plans")
    for cause in Cause:
        if cause is not Cause.PRECISION:  # called by its types
            assert _CAUSES[cause].partition(",")[0].removeprefix("only in ") in text, cause


def test_looks_and_their_confidence() -> None:
    text = " ".join(section("Measured interleaved").split())
    listed = ", ".join(map(str, LOOKS[:-1]))
    assert f"looks when {listed} and {LOOKS[-1]} rounds count" in text
    assert f"of {100 * LOOK_CONFIDENCE:g} %" in text
    assert "for **one second**" in text
    assert PROCESS_STOP.duration_ms == 1_000
    assert f"matter ({THRESHOLD_PCT:g})" in text


def test_figures_of_verdicts_and_pages_are_stated() -> None:
    named = set(re.findall(r"`([a-z-]+)`", first_cells(section("Verdicts"))))
    assert named == {one.value for one in VerdictKind}
    text = section("What the unit is")
    assert f"else ±{ASSUMED_SCATTER_PCT:g} %" in text
    assert f"assumption of ±{ASSUMED_SCATTER_PCT:g} %" in text
    assert f"Up to {MAX_CARRIED_PAIRS:,} pairs" in section("The page")


def test_the_example_runs(monkeypatch, capsys) -> None:
    pytest.importorskip("pandas")
    found = compare([run_a(), run_b()])
    monkeypatch.setattr(es, "compare_plans", lambda *_: found, raising=False)
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (code,) = [one for one in blocks if "es.compare_plans(" in one and "for one in" in one]
    exec(compile(code, "python.md", "exec"), {"es": es})
    assert "-1.25 precision Convolution FP32 → FP16" in capsys.readouterr().out
