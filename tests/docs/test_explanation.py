"""docs/explanation states the figures and names that the code has."""

import re
from pathlib import Path

import pytest

import enginescope as es
from enginescope.analysis.errors.output_tolerance import TOLERANCES
from enginescope.analysis.layers.reformats import REFORMATS, WHOLE_PARTS
from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.plan_comparison.layer_changes import Cause
from enginescope.analysis.verdicts.comparability import ASSUMED_SCATTER_PCT
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS, THRESHOLD_PCT
from enginescope.judge.stats import autocorrelation
from enginescope.judge.stats.describe import needed_samples
from enginescope.judge.verdict import VerdictKind
from enginescope.records.plan.plan import INERT_TYPES
from enginescope.records.run.job import StopRule, WarmUp
from enginescope.render.compare.compare_page import MAX_CARRIED_PAIRS
from enginescope.render.plan_comparison.compare_phrases import _CAUSES
from enginescope.rules.tensor_cores import CONVOLUTIONS, MATMULS
from enginescope.services.measurement.interleaved import PROCESS_STOP
from tests.analysis.compared_plans import run_a, run_b

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "explanation"
MARKED = re.compile(r"`([^`]+)`")


def text_of(name: str) -> str:
    return " ".join((FOLDER / name).read_text(encoding="utf-8").split())


def rows(name: str, header: str) -> list[list[str]]:
    _, found, after = (FOLDER / name).read_text(encoding="utf-8").partition(header)
    assert found, header
    lines = after.splitlines()[2:]
    end = next((at for at, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]


def test_every_special_layer_type_is_in_the_glossary() -> None:
    listed = {
        one for row in rows("glossary.md", "| type | meaning |") for one in MARKED.findall(row[0])
    }
    assert {*INERT_TYPES, *CONVOLUTIONS, *MATMULS, *REFORMATS, *WHOLE_PARTS} - listed == set()


def test_terms_are_in_order() -> None:
    for header in (
        "## Words of TensorRT\n\n| term | meaning |",
        "## Words of enginescope\n\n| term | meaning |",
    ):
        terms = [row[0].lower() for row in rows("glossary.md", header)]
        assert len(terms) > 10
        assert len(set(terms)) == len(terms)


def test_constants_of_intervals() -> None:
    text = text_of("intervals.md")
    assert f"· (1 + {autocorrelation._SHORT_SERIES} τ₁/n)`" in text
    assert f"down to {autocorrelation._FEWEST_BLOCKS} blocks" in text
    assert f"fewer than {autocorrelation.BATCHES} samples" in text
    needed = [needed_samples(p) for p in (90, 95, 99)]
    assert "{} for p90, {} for p95 and {} for p99".format(*needed) in text


def test_defaults_of_a_measurement() -> None:
    text, stop, warmup = text_of("measurement.md"), StopRule(), WarmUp()
    assert f"by default {warmup.time_ms:g} ms and {warmup.iterations}" in text
    assert f"within ±{stop.precision_pct:g} % (`--precision`)" in text
    assert f"after at least {stop.min_samples} samples" in text
    assert f"and {stop.min_time_ms:g} ms" in text
    assert f"`--max-time` ({stop.max_time_ms / 1000:g} s)" in text


def test_limits_of_outputs() -> None:
    listed = {}
    for names, *cells in rows("outputs.md", "| limits of | RMSE"):
        for name in MARKED.findall(names):
            listed[name] = tuple(map(float, cells))
    assert listed == {
        one.name: (one.error_to_spread, one.peak_to_spread, one.channel_error, one.resolution)
        for one in TOLERANCES.values()
    }


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
