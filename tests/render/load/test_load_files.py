import json

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.records.run.load_and_contention import LoadRule
from enginescope.records.verdict.load import Slo
from enginescope.render.load.load_answer import load_answer, parts_chart
from enginescope.render.page.page import report_page
from tests.render.load.load_reports import GOAL, load_screen, loaded_run, scenario, searched, single
from tests.render.outputs import outputs, phrases

load_json, load_markdown, load_page, _ = outputs(load_answer)
answer_text, scope_facts = phrases(load_answer)
SCENARIOS = ("single-stream", "multi-stream", "server", "offline")


def test_the_first_line_is_the_answer() -> None:
    unmet = "inconclusive whether p99 < 10.0 ms is met at"
    for report, answer in (
        (single(50.0), "p99 latency 9"),
        (single(20.0, GOAL, queries=9_000), "p99 < 10.0 ms is met at 20.0 queries/s: p99"),
        (single(200.0, GOAL), "p99 < 10.0 ms is missed at 200 queries/s: p90"),
        (single(50.0, GOAL, queries=100), f"{unmet} 50.0"),
        (single(200.0, GOAL, late=True), f"{unmet} 200 queries/s"),
        (searched(), "highest rate that meets p99 < 10.0 ms: 20.0 queries/s; 200 queries/s misses"),
        (scenario("single-stream"), "single-stream: p90 latency"),
        (scenario("server"), "server: p99 latency"),
        (scenario("offline"), "offline: "),
    ):
        assert answer_text(report).startswith(answer)
        assert len(answer_text(report)) <= 140


@pytest.mark.parametrize("width", [80, 120])
def test_a_screen_fits(width: int) -> None:
    for report in (single(), single(slo=GOAL), searched(), *map(scenario, SCENARIOS)):
        lines = load_screen(report, width).splitlines()
        assert all(len(line) <= width for line in lines)
        assert any("ms" in line or "Latency" in line for line in lines)


def test_a_search_names_each_rate_in_every_form() -> None:
    text = load_screen(searched(), 100)
    assert [row[:2] for row in [line.split() for line in text.splitlines()[2:5]]] == [
        ["20.0", "met"],
        ["110", "inconclusive"],
        ["200", "missed"],
    ]
    assert "110 queries/s inconclusive" in answer_text(searched())
    text = load_markdown(searched()).decode()
    assert text.startswith("### enginescope: highest rate that meets p99")
    assert "| Queries/s | Verdict |" in text
    document = json.loads(load_json(searched()))
    assert document["verdict"] == "met"
    assert document["passed"] is True
    assert document["report"]["inconclusive"] == [110.0]
    assert document["report"]["steps"][0]["trials"][0]["latency"]["metric"] == "latency"


def test_a_late_run_is_marked() -> None:
    report = single(200.0, GOAL, late=True)
    (step,) = report.steps
    both = replace(report, steps=(replace(step, trials=2 * step.trials),))
    assert "inconclusive, late" in load_screen(both, 100)
    assert "late: the load generator was late (W-LATE)" in load_screen(both, 160)
    page = load_page(replace(both, is_search=True)).decode()
    assert "inconclusive, late" in page
    assert "late: the load generator was late (W-LATE)" in page


def test_scenarios_have_exact_figures_and_say_what_is_missing() -> None:
    report = scenario("server")
    figures = replace(report.loadgen, is_passed=False, needed=report.loadgen.queries + 1)
    text = answer_text(replace(report, loadgen=figures))
    needed = f"{figures.needed:,}"
    assert text.endswith(f"; the run does not pass: early stopping needs {needed} queries")
    report = scenario("single-stream")
    assert f"{report.loadgen.percentile_ms:.6f} ms" in load_screen(report, 80)


def test_a_closed_loop_has_no_picture_of_parts() -> None:
    report = scenario("single-stream")
    trial = report.trials[0]
    assert load_answer(report).charts == (parts_chart(trial),)
    assert parts_chart(trial) is not None
    assert parts_chart(replace(trial, service=None, queueing=None, lateness=None)) is None


def test_the_objective_is_a_line_with_its_result() -> None:
    for report, label in (
        (single(20.0, GOAL, queries=9_000), "p99 < 10.0 ms: met"),
        (single(200.0, GOAL), "p99 < 10.0 ms: missed"),
        (searched(), "p99 < 10.0 ms"),
    ):
        chart = load_answer(report).charts[0]
        _, line, text = chart.spec["layer"]
        assert line["mark"]["type"] == "rule"
        assert [row["y"] for row in line["data"]["values"]] == [GOAL.limit_ms]
        assert [row["text"] for row in text["data"]["values"]] == [label]
        assert chart.subtitle[-1].endswith("dashed: the objective")


def test_chart_and_table_have_the_same_percentiles() -> None:
    answered = load_answer(single(50.0, queries=100))
    bars = answered.charts[0].spec["layer"][0]["data"]["values"]
    assert {bar["percentile"] for bar in bars} == {"p50", "p90", "p95", "p99"}
    assert not all(bar["stated"] for bar in bars)  # those are pale
    assert answered.tables[0].headers == ("Time", "Median", "p90", "p95", "p99", "Largest")


def test_the_report_of_a_run_has_a_section() -> None:
    page = report_page([RunView(loaded_run(100.0))]).decode()
    section = page[page.index('id="load"') :]
    assert section.index(">p99 latency ") < section.index("<table")
    assert "Queueing time" in page


def test_other_limits_and_durations_are_stated() -> None:
    report = single(20.0, Slo(p=99.9, limit_ms=1_500.0), queries=9_000)
    assert answer_text(report).startswith("p99.9 < 1,500 ms is met")
    report = replace(searched(), rule=LoadRule(duration_ms=3_000.0, least_queries=736))
    assert dict(scope_facts(report))["arrivals"] == "Poisson, seed 0, 3 s and at least 736 queries"
    counted = replace(report, rule=LoadRule(queries=100))
    assert dict(scope_facts(counted))["arrivals"] == "Poisson, seed 0, 100 queries"
