"""docs/compare.md names what there is, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import enginescope as es
from enginescope.analysis.plan_comparison import comparison as comparison_notices
from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.plan_comparison.difference_causes import Cause
from enginescope.analysis.plan_comparison.paired_layers import Relation
from enginescope.analysis.verdicts import measured_notices
from enginescope.analysis.verdicts.comparability import (
    ASSUMED_SCATTER_PCT,
    CONDITIONS,
    THRESHOLD_PCT,
)
from enginescope.cli.verdicts.compare import command
from enginescope.records.verdict.verdict import Reason, VerdictKind
from enginescope.render.compare.compare_page import MAX_CARRIED_PAIRS
from enginescope.render.plan_comparison.compare_phrases import _CAUSES
from enginescope.runner.interleaved import PROCESS_STOP
from enginescope.stats.comparison.ratio import LOOK_CONFIDENCE, LOOKS
from tests.analysis.compared_plans import run_a, run_b

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "compare.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return TEXT.partition(f"## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> str:
    return "\n".join(line.split("|")[1] for line in text.splitlines() if line.startswith("|"))


def test_columns() -> None:
    columns = compare([run_a(), run_b()]).columns()
    named = set(re.findall(r"`([a-z_]+)`", first_cells(section("From Python"))))
    assert named | {one.replace("a_", "b_", 1) for one in named if one.startswith("a_")} == set(
        columns
    )
    row = next(line for line in TEXT.splitlines() if line.startswith("| `relation`"))
    assert set(re.findall(r"`(\w+)`", row)[1:]) == {one.value for one in Relation}


def test_notices() -> None:
    source = Path(comparison_notices.__file__).read_text(encoding="utf-8")
    told = set(re.findall(r'"([WI]-[A-Z-]+)"', source))
    assert set(re.findall(r"`([WI]-[A-Z-]+)`", first_cells(section("Notices")))) == told


def test_options() -> None:
    ours = {name for one in command.params for name in one.opts if name.startswith("--")}
    named = set(re.findall(r"(--[a-z][a-z-]+)", first_cells(TEXT)))
    assert named == ours - {"--store"}


def test_every_reason_is_explained() -> None:
    text = section("What explains the difference")
    for cause in Cause:
        if cause is not Cause.PRECISION:  # called by its types
            words = _CAUSES[cause].partition(",")[0]
            assert words.removeprefix("only in ") in text, cause


def test_looks_and_their_confidence() -> None:
    text = " ".join(section("Measured in turn").split())
    listed = ", ".join(map(str, LOOKS[:-1]))
    assert f"looks after {listed} and {LOOKS[-1]} rounds" in text
    assert f"of {100 * LOOK_CONFIDENCE:g} %" in text
    assert "for **one second**" in text
    assert PROCESS_STOP.duration_ms == 1_000
    assert f"matter ({THRESHOLD_PCT:g})" in text


def test_verdicts_and_reasons() -> None:
    named = set(re.findall(r"`([a-z-]+)`", first_cells(section("Verdicts"))))
    assert named == {one.value for one in (*VerdictKind, *Reason)}
    assert f"else ±{ASSUMED_SCATTER_PCT:g} %" in section("Verdicts")


def test_conditions() -> None:
    keys = section("Sides").partition("these keys")[2].partition("What a run")[0]
    assert set(re.findall(r"`([a-z-]+)`", keys)) == set(CONDITIONS)


def test_what_weakens_a_verdict() -> None:
    source = Path(measured_notices.__file__).read_text(encoding="utf-8")
    told = set(re.findall(r'"([WI]-[A-Z-]+)"', source))
    named = first_cells(section("What weakens a verdict"))
    assert set(re.findall(r"`([WI]-[A-Z-]+)`", named)) == told


def test_the_limit_of_a_page() -> None:
    assert f"Up to {MAX_CARRIED_PAIRS:,} pairs" in section("The page")


def test_the_example_runs(monkeypatch, capsys) -> None:
    pytest.importorskip("pandas")
    found = compare([run_a(), run_b()])
    monkeypatch.setattr(es, "compare_plans", lambda *_: found, raising=False)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (code,) = [one for one in blocks if "compare_plans" in one]
    exec(compile(code, "compare.md", "exec"), {"es": es})
    assert "-1.25 precision Convolution FP32 → FP16" in capsys.readouterr().out
