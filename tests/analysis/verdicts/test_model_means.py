"""One row for all models of an upgrade or jobs of a gate: their geometric mean."""

import json
import math

import pytest

from enginescope.analysis.gate.gate import gate
from enginescope.analysis.verdicts.model_mean import gate_means, upgrade_means
from enginescope.core.record import replace
from enginescope.records.run.job import Subject
from enginescope.records.verdict.gate import GateTerms, Limit
from enginescope.render.base.answer_tables import answer_markdown as written_markdown
from enginescope.render.verdicts.gate_answer import gate_answer, gate_json, gate_rows
from enginescope.render.verdicts.upgrade_answer import upgrade_rows
from enginescope.render.verdicts.verdict_phrases import mean_cells, mean_lines
from tests.analysis.in_turn import crashed, job, process
from tests.render.verdicts.test_upgrade_files import (
    measured,
    report,
    untimed,
    upgrade_json,
    upgrade_markdown,
    upgrade_page,
)


def test_models_that_were_not_timed_are_named_and_one_has_no_mean() -> None:
    latency, *_ = upgrade_means(report(measured("a", 1.2), measured("b", 1.3), untimed("c")))
    assert latency.metric == "latency"
    assert latency.ratio == pytest.approx(math.sqrt(1.2 * 1.3), rel=0.01)  # not its cube root
    assert latency.interval.low < latency.ratio < latency.interval.high
    assert latency.interval.confidence == 0.99
    assert latency.models == ("a · ort-cpu", "b · ort-cpu")
    assert latency.left_out == (("c · ort-cpu", "outputs-first"),)
    assert upgrade_means(report(measured("a", 1.2), untimed("c"))) == ()
    assert upgrade_means(report(measured("a", 1.2))) == ()


def test_the_row_stands_below_the_models_on_every_output() -> None:
    whole = report(measured("a", 1.2), measured("b", 1.3), untimed("c"))
    _, text = next(row for row in upgrade_rows(whole) if row[0] == "mean")
    without = "without c · ort-cpu (outputs-first)"
    assert text.startswith(f"Latency, geometric mean of 2 models, {without}")
    assert "+2" in text
    assert "99 % CI" in text
    rows = [line for line in upgrade_markdown(whole).decode().splitlines() if "| mean |" in line]
    assert len(rows) == len(upgrade_means(whole))
    assert "| mean | 2 models | Latency | — | — | +2" in rows[0]
    assert f"| geometric mean, {without} |" in rows[0]
    data = json.loads(upgrade_json(whole))
    assert data["means"][0]["left_out"] == [["c · ort-cpu", "outputs-first"]]
    assert f"geometric mean, {without}" in upgrade_page(whole).decode()


def test_cells_have_signs_and_three_jobs_without_a_ratio_are_named() -> None:
    cells = mean_cells(upgrade_means(report(measured("a", 0.8), measured("b", 0.9)))[0], "model")
    assert cells[5].startswith("−15")
    assert cells[6].startswith("−")
    assert len(cells) == 8
    names = "abcdefg"
    before = [run for name in names for run in runs_of(f"{name}.onnx", 1.0)]
    (mean,) = gate_means(gate(before, before[:12]))
    assert len(mean.left_out) == 5
    text = mean_lines(mean, "job")
    assert text.count("(lost coverage)") == 3
    assert "and 2 more" in text


def runs_of(name: str, level: float, count: int = 6):
    own = replace(job(), subject=Subject(name=name, kind="onnx", sha256="5" * 64))
    return [process(level * (1 + at / 2_000), seed=at, job=own) for at in range(count)]


def test_jobs_of_a_gate() -> None:
    before = [*runs_of("a.onnx", 1.0), *runs_of("b.onnx", 2.0), *runs_of("c.onnx", 1.0)]
    broken = [crashed(run) for run in runs_of("c.onnx", 1.0)]
    after = [*runs_of("a.onnx", 1.1), *runs_of("b.onnx", 2.42), *broken]
    found = gate(before, after, GateTerms(limits=(Limit(metric="latency", regression_pct=2.0),)))
    (mean,) = gate_means(found)
    assert mean.ratio == pytest.approx(math.sqrt(1.1 * 1.21), rel=1e-3)
    ((name, why),) = mean.left_out
    assert "c.onnx" in name
    assert why == "new failure"
    assert json.loads(gate_json(found))["means"][0]["ratio"] == mean.ratio
    text = written_markdown(gate_answer(found)).decode()
    assert "| mean | 2 jobs |" in text
    assert "geometric mean, without c.onnx" in text
    assert gate_rows(found).rows[-1][0] == "mean"


def test_jobs_measured_on_another_day_share_what_differs_between_days() -> None:
    before = [*runs_of("a.onnx", 1.0), *runs_of("b.onnx", 2.0)]
    after = [*runs_of("a.onnx", 1.1), *runs_of("b.onnx", 2.2)]
    later = [replace(run, created=run.created.replace("2026-01", "2026-02")) for run in after]
    (same,), (other,) = gate_means(gate(before, after)), gate_means(gate(before, later))
    reach = [math.log(one.interval.high / one.ratio) for one in (same, other)]
    estimates = [row.verdict.estimate for row in gate(before, later).rows]
    alone = math.log(max(one.interval.high / one.ratio for one in estimates))
    assert reach[0] < reach[1]
    assert reach[1] == pytest.approx(alone, rel=0.05)  # not alone ÷ √2
