"""An upgrade as text, Markdown, JSON, page and notebook: the answer leads, names are escaped."""

import json
import re
from functools import cache

import pytest

from enginescope.analysis.upgrade.rows import layer_differences, metric_rows, untimed_row
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import EvidenceLevel
from enginescope.notebook.html_fragments import answer_html
from enginescope.records.run.run import Run
from enginescope.records.verdict.upgrade import (
    OUTPUTS,
    UPGRADE_LIMITS,
    Release,
    ReleaseSearch,
    Stack,
    UpgradedModel,
    UpgradeKind,
    UpgradeReport,
    UpgradeRow,
)
from enginescope.render.base.answer_tables import answer_markdown
from enginescope.render.html.answer_page import written_page
from enginescope.render.verdicts.upgrade_answer import (
    answer_text,
    layer_table,
    layers_text,
    most_text,
    upgrade_answer,
    upgrade_chart,
    upgrade_rows,
)
from enginescope.render.verdicts.verdict_phrases import change_note, change_text
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.in_turn import in_turn, named
from tests.render.outputs import outputs

upgrade_json, upgrade_markdown, upgrade_page, _ = outputs(upgrade_answer)
IDENTICAL = UpgradeRow(
    metric=OUTPUTS, kind=UpgradeKind.SAFE, reason="identical", message="identical bits", old=0.0
)
WRONG = replace(IDENTICAL, kind=UpgradeKind.WORSE, reason="outputs-fail", message="y: too far")


@cache
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


def searched() -> ReleaseSearch:
    step = report(measured("net.onnx", 1.05))
    metrics = [row.metric for row in step.models[0].rows if row.kind is UpgradeKind.WORSE]
    return ReleaseSearch(
        package="onnxruntime",
        model="net.onnx",
        releases=(Release(version="old"), Release(version="new")),
        error=0.05,
        metric=metrics[0],
        steps=(step, step),
        good="old",
        bad="new",
    )


def untimed(name: str) -> UpgradedModel:
    return UpgradedModel(model=name, backend="ort-cpu", rows=(WRONG, untimed_row(WRONG, 2.0)))


def layered(name: str, *, is_timed: bool = True) -> UpgradedModel:
    """A model whose plans differ in every way a comparison tells."""
    runs = run_a(), run_b()
    if not is_timed:
        runs = tuple(replace(run, profile=None) for run in runs)
    return replace(measured(name, 1.0), layers=layer_differences(runs[:1], runs[1:]))


def test_layers_say_what_differs_and_where_the_time_goes() -> None:
    model = layered("net.onnx")
    assert layers_text(model.layers) == (
        "6 pairs among 8 and 7 layers, 3 built differently, 1 layer only old, 1 layer only new; "
        "layer times 5.875 ms → 4.188 ms, of one process a side"
    )
    assert most_text(model).startswith("most of it: ")
    lines = dict(row for row in upgrade_rows(report(model)) if row[0] == "layers")
    assert lines["layers"].startswith("net.onnx · ort-cpu · Layers\n6 pairs among ")
    answered = upgrade_answer(report(model))
    markdown, page = answer_markdown(answered).decode(), written_page(answered).decode()
    for text in (markdown, page, answer_html(answered)):
        assert "FP32 → FP16" in text
        assert "only new" in text
    (data,) = json.loads(upgrade_json(report(model)))["models"]
    assert data["layers"] == layers_text(model.layers)
    model = layered("net.onnx", is_timed=False)
    assert layers_text(model.layers).endswith("; no layer times")
    assert layer_table(model).known().headers == ("Layer", "Type", "Differs in")
    assert most_text(model).startswith("most: ")


def test_the_picture_has_each_change_that_counts() -> None:
    models = measured("a.onnx", 1.05), measured("b.onnx", 0.9), untimed("c.onnx")
    rows = upgrade_chart(report(*models)).spec["data"]["values"]
    names = [(row["name"], row["kind"]) for row in rows if row["name"].endswith("Latency")]
    assert names == [("a.onnx: Latency", "worse"), ("b.onnx: Latency", "better")]
    assert rows[0]["low"] < rows[0]["value"] < rows[0]["high"]
    assert upgrade_chart(report(untimed("c.onnx"))) is None
    page = upgrade_page(report(*models)).decode()
    assert page.index("chart-upgrade_changes") < page.index("<caption>Metrics that count")


def test_equal_layers_explain_nothing_and_times_that_contradict_the_verdict_say_so() -> None:
    def text(ratio: float, old: Run, new: Run) -> str | None:
        return most_text(replace(measured("a", ratio), layers=layer_differences((old,), (new,))))

    assert text(1.0, run_a(), run_a()) is None
    assert text(1.05, run_b(), run_a()).startswith("most of it: ")
    said = "these times do not show the difference in latency"
    assert text(1.05, run_a(), run_b()) == said  # less time in the new stack
    assert text(0.9, run_a(), run_b()).startswith("most of it: ")


def test_models_are_named_where_there_are_several() -> None:
    one = upgrade_page(report(measured("a.onnx", 1.05))).decode()
    assert "a.onnx · ort-cpu" in one
    two = upgrade_page(report(measured("a.onnx", 1.05), measured("b.onnx", 1.05))).decode()
    assert '<th scope="col">Model</th>' in two
    assert '<th scope="col">Model</th>' not in one
    assert "per round" not in one
    notice = Notice(code="W-LOAD", message="other load", level="warning")
    models = replace(measured("a", 1.0), notices=(notice,)), measured("b", 1.0)
    assert "a: other load" in upgrade_markdown(report(*models)).decode()


def test_a_change_that_is_not_that_of_the_two_medians_says_which_it_is() -> None:
    verdict = next(row.verdict for row in measured("a", 1.05).rows if row.verdict)
    alike = replace(verdict, a=1.0, b=verdict.estimate.ratio)
    assert change_text(alike) == change_text(alike, is_cell=True)
    assert change_note([(change_text(alike, is_cell=True),)]) == ""
    other = replace(verdict, a=1.0, b=2.0)
    assert re.fullmatch(r"\+\d\.\d+ % in the median round", change_text(other))
    cell = change_text(other, is_cell=True)
    assert cell.endswith(" %*")
    assert change_note([("a", cell)]).startswith("* in the median round")
    assert change_text(None) == "—"


@pytest.mark.parametrize(
    ("ratios", "answer"),
    [
        ([1.0], "upgrade is safe: 1 model is as correct and as fast"),
        ([0.9], "upgrade is safe, and better: a is better (latency)"),
        ([1.05, 1.0], "upgrade is not safe: 1 of 2 models is worse: a (latency)"),
        ([None], "upgrade is not safe: a is worse (outputs)"),
    ],
)
def test_the_answer(ratios, answer) -> None:
    names = zip("ab", ratios, strict=False)
    models = [measured(name, ratio) if ratio else untimed(name) for name, ratio in names]
    assert answer_text(report(*models)) == answer


def test_markdown_has_what_counts_first_and_the_rest_folded() -> None:
    text = upgrade_markdown(report(measured("net.onnx", 1.05))).decode()
    table, folded = text.split("<details>")
    assert "old: old (onnxruntime 1.23.2), /o/python" in table
    assert "evidence: independent builds, 12 runs a side" in table
    assert "\nnet.onnx · ort-cpu\n" in table
    assert "| worse | Latency |" in table
    assert "Load" not in table
    assert "Load" in folded


def test_rows_that_do_not_count_are_in_brackets_and_json_has_every_row() -> None:
    made = report(measured("net.onnx", 1.05))
    shown, (_, whole, *_) = upgrade_rows(made), upgrade_answer(made).tables
    assert [kind for kind, _ in shown] == ["safe", "worse", "safe"]
    assert any(row[0].startswith("(") for row in whole.rows)
    assert "+5." in shown[1][1]
    found = json.loads(upgrade_json(made))
    assert (found["passed"], found["verdict"]) == (False, "worse")
    (model,) = found["models"]
    assert "Latency" in model["sentences"][1]
    assert found["report"]["models"][0]["evidence"] == "independent builds"
