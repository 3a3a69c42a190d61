"""An upgrade as text, Markdown, JSON, page and notebook: the answer leads, names are escaped."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from enginescope.analysis.upgrade.metric_rows import metric_rows, untimed_row
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.notebook.html.verdicts import upgrade_html
from enginescope.records.notice import Notice
from enginescope.records.verdict.evidence import EvidenceLevel
from enginescope.records.verdict.upgrade import (
    OUTPUTS,
    UPGRADE_LIMITS,
    Stack,
    UpgradedModel,
    UpgradeKind,
    UpgradeReport,
    UpgradeRow,
)
from enginescope.render.verdicts.upgrade_phrases import answer_text
from enginescope.render.verdicts.upgrade_writers import (
    upgrade_json,
    upgrade_markdown,
    upgrade_page,
    upgrade_rows,
)
from tests.analysis.in_turn import in_turn, named
from tests.render.verdicts.test_gate_files import NASTY

IDENTICAL = UpgradeRow(
    metric=OUTPUTS, kind=UpgradeKind.SAFE, reason="identical", message="identical bits", old=0.0
)
WRONG = replace(IDENTICAL, kind=UpgradeKind.WORSE, reason="outputs-fail", message="y: too far")


def measured(name: str, ratio: float) -> UpgradedModel:
    comparison = compare_sides(
        named(*in_turn(ratio)), CompareConfig(threshold_pct=2.0, confidence=0.99)
    )
    rows = metric_rows(comparison, UPGRADE_LIMITS, CompareConfig(confidence=0.99))
    return UpgradedModel(
        model=name,
        backend="ort-cpu",
        rows=(IDENTICAL, *rows),
        evidence=EvidenceLevel.BUILDS,
        comparison="0a1b2c3d",
        old=("a",) * 12,
        new=("b",) * 12,
    )


def report(*models: UpgradedModel) -> UpgradeReport:
    old = Stack(name="old", python="/o/python", versions={"onnxruntime": "1.23.2", "numpy": "2"})
    new = Stack(name="new", python="/n/python", versions={"onnxruntime": "1.32.0", "numpy": "2"})
    return UpgradeReport(old=old, new=new, models=models)


def untimed(name: str) -> UpgradedModel:
    return UpgradedModel(model=name, backend="ort-cpu", rows=(WRONG, untimed_row(WRONG, 2.0)))


@pytest.mark.parametrize(
    ("models", "answer"),
    [
        ((measured("a", 1.0),), "upgrade is safe: 1 model is as correct and as fast"),
        ((measured("a", 0.9),), "upgrade is safe, and better: a is better (latency)"),
        (
            (measured("a", 1.05), measured("b", 1.0)),
            "upgrade is not safe: 1 of 2 models is worse: a (latency)",
        ),
        ((untimed("a"),), "upgrade is not safe: a is worse (outputs)"),
    ],
)
def test_the_answer(models, answer) -> None:
    assert answer_text(report(*models)) == answer


def test_markdown_has_what_counts_first_and_the_rest_folded() -> None:
    text = upgrade_markdown(report(measured("net.onnx", 1.05))).decode()
    table, folded = text.split("<details>")
    assert "old: old (onnxruntime 1.23.2), /o/python" in table
    assert "evidence: independent builds, 12 runs a side" in table
    assert "| worse | net.onnx | Latency |" in table
    assert "Load" not in table
    assert "Load" in folded


def test_rows_that_do_not_count_are_in_brackets() -> None:
    shown = upgrade_rows(report(measured("net.onnx", 1.05)))
    whole = upgrade_rows(report(measured("net.onnx", 1.05)), everything=True)
    assert [kind for kind, _ in shown] == ["safe", "worse", "safe"]
    assert any(kind.startswith("(") for kind, _ in whole)
    assert "+5." in shown[1][1]


def test_json_has_verdicts_sentences_and_the_report() -> None:
    found = json.loads(upgrade_json(report(measured("net.onnx", 1.05))))
    assert (found["passed"], found["verdict"]) == (False, "worse")
    (model,) = found["models"]
    assert "Latency" in model["sentences"][1]
    assert found["report"]["models"][0]["evidence"] == "independent builds"


def test_a_notice_names_the_models_that_have_it() -> None:
    notice = Notice(code="W-LOAD", message="other load", level="warning")
    models = replace(measured("a", 1.0), notices=(notice,)), measured("b", 1.0)
    assert "a: other load" in upgrade_markdown(report(*models)).decode()


@pytest.mark.parametrize("write", [upgrade_page, upgrade_markdown, upgrade_html])
def test_names_are_text(write) -> None:
    made = write(report(measured(NASTY, 1.05), untimed(NASTY)))
    text = made if isinstance(made, str) else made.decode()
    assert '<script>alert("1")' not in text
    assert "\x1b" not in text
    assert "not safe" in text
