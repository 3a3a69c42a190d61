"""Every presenter says no more than the evidence carries, and one thing in one word.

Further checks of what is presented belong into `offences`, further records into `planted`, and
further presenters into `presented`: this file only walks them.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.history import histories
from enginescope.judge.samples import Mark
from enginescope.records.verdict.load import LoadKind
from enginescope.render.load.load_answer import load_answer
from enginescope.render.plans.findings import Linted
from enginescope.store.archive import Store
from tests.analysis.historic_runs import over_days
from tests.claims import planted, presented
from tests.claims.offences import bare_percentiles, second_words
from tests.claims.planted import ANSWERS, COMPARISONS, GATES, HISTORIES, LOADS
from tests.claims.recorded import PLANS, name_of, report_of, view_of
from tests.serve.conftest import client_of, wait_for

RUNS = planted.runs()


def check(presenter: str, made: Any) -> None:
    assert list(bare_percentiles(made)) == [], presenter
    assert list(second_words(made)) == [], presenter


def test_the_planted_runs_lack_what_a_mark_names_and_that_is_found() -> None:
    curves = [RunView(run).percentile_curve for run in RUNS.values()]
    marks = {one.mark for curve in curves for one in curve}
    assert marks >= {None, Mark.SAMPLES, Mark.LOWER, Mark.EXTREMES, Mark.EQUAL}
    latency = RunView(RUNS["tail of few"]).latency
    assert list(bare_percentiles("p99 7.800 ms (95 % CI 7.1 … 8.3 ms)", latency))


@pytest.mark.parametrize("name", RUNS)
def test_no_run_has_a_bare_percentile(name: str) -> None:
    latency = RunView(RUNS[name]).latency
    for presenter, made in presented.of_run(RUNS[name]):
        known = latency if presenter in ("terminal", "notebook") else None
        assert list(bare_percentiles(made, known)) == [], presenter


@pytest.mark.parametrize("name", LOADS)
def test_a_load_test_has_no_bare_percentile_and_one_word_for_its_verdict(name: str) -> None:
    for presenter, made in presented.of_load(LOADS[name]()):
        check(presenter, made)


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_has_one_word_for_its_verdict(name: str) -> None:
    found = COMPARISONS[name]()
    assert found.pairs[0].headline.kind.value == name
    word = {"same": "no difference above "}.get(name, name)
    for presenter, made in presented.of_comparison(found):
        assert list(second_words(made)) == [], presenter
        if isinstance(made, str):
            assert word in made.lower(), presenter


@pytest.mark.parametrize("name", GATES)
def test_no_output_of_a_gate_says_more_than_its_evidence_and_all_the_same(name: str) -> None:
    report = GATES[name]()
    told = {row.outcome.value for row in report.rows if report.fails(row)}
    for presenter, made in presented.of_gate(report):
        check(presenter, made)
        assert all(word in str(made).lower() for word in told), presenter


@pytest.mark.parametrize("name", HISTORIES)
def test_no_history_says_more_than_its_evidence(name: str) -> None:
    for presenter, made in presented.of_history(histories(over_days(HISTORIES[name]))[0]):
        check(presenter, made)


@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_of_a_verb_says_more_than_its_evidence(name: str) -> None:
    for presenter, made in presented.of_answer(name.split()[0], ANSWERS[name]()):
        check(presenter, made)


def test_no_suite_says_more_than_its_evidence() -> None:
    for presenter, made in presented.of_suite(planted.suite()):
        check(presenter, made)


@pytest.mark.parametrize("file", PLANS, ids=name_of)
def test_no_finding_says_more_than_its_evidence(file: Path) -> None:
    linted = Linted(source=str(file), plan=view_of(file).run.plan, report=report_of(file))
    for presenter, made in presented.of_findings(linted):
        check(presenter, made)


def test_no_page_of_the_server_says_more_than_the_evidence(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for run in (*RUNS.values(), *over_days([4.0] * 12 + [4.4] * 12)):
        store.save(run)
    ids = [run.id for run in RUNS.values()][:2]
    compared = f"/compare?run={ids[0]}&run={ids[1]}"
    pages = ("/", "/runs", "/history?model=net.onnx", f"/runs/{ids[0]}", compared)
    with client_of(store) as client:
        wait_for(lambda: "; reading " not in client.get("/").text)
        for page in pages:
            answered = client.get(page)
            assert answered.status_code == 200, page
            check(page, presented.words(answered.text))


def test_a_load_test_of_74_queries_states_no_p99_and_passes_nothing() -> None:
    """Its answer was ``p99 latency 7.80 ms``, the largest of 74, with ``passed: true``."""
    report = LOADS["74 queries"]()
    assert re.match(r"p9[05] latency .*; p99 not stated: \d+ of 459 ", load_answer(report).answer)
    assert report.is_passed is None
    judged = LOADS["74 queries with an objective"]()
    assert judged.kind is LoadKind.INCONCLUSIVE
    assert judged.is_passed is None


@pytest.mark.parametrize("name", ["74 queries", "a few queries", "many queries"])
def test_the_parts_of_a_latency_are_of_one_query_and_add_up(name: str) -> None:
    report = LOADS[name]()
    found = re.search(
        r"(?:p[\d.]+ latency|latencies) ([\d.,]+) ms.* queueing ([\d.]+) ms \+ service ([\d.]+) ms",
        load_answer(report).answer,
    )
    assert found, load_answer(report).answer
    whole, queueing, service = (float(one) for one in found.groups())
    assert queueing + service == pytest.approx(whole, abs=1e-9)
    parts = report.trials[0].parts
    assert parts.queueing_ms + parts.service_ms == pytest.approx(parts.latency_ms)


@pytest.mark.parametrize(
    "made",
    [
        "p99 7.800 ms",
        "latency 4.2 ms median   p95 7.1 ms   p99 7.800 ms (34 of 459 effective samples needed)",
        "run | p99 ms | n\na | 7.80 | 74",
        "run      p99 ms   n\na        7.80     74",
        "| latency | p99 | 7.800 | none | enough |",
        "| inconclusive | p99 latency | 4.022 ms | 4.426 ms | +10.0 % | — |",
        "regression: p99 latency 4.022 ms → 4.426 ms, +10.0 %, limit 5 %",
        "mean | p99 latency | 4.0 ms",
        [{"p": 99.0, "value_ms": 7.8, "interval": None, "mark": None}],
        [{"p99_ms": "7.8", "p99_low_ms": "", "p99_mark": ""}],
        {"summaries": [{"percentiles": [{"p": 99.0, "value_ms": 7.8}]}]},
        {"p99": 7.8},
    ],
)
def test_a_bare_percentile_is_found(made: Any) -> None:
    assert list(bare_percentiles(made))


@pytest.mark.parametrize(
    "made",
    [
        "builds of a show no difference: 0 % (95 % CI 0 … 2.7 %)",
        "metric | verdict | reason\nlatency | faster | beyond-threshold",
        "undecided: the interval is too wide",
        "A and B are the same within 1 %",
        "change -45.13 % against −2.572 %",
        "regression: a.onnx is indistinguishable from its baseline",
        "error | a.onnx | few-samples",
    ],
)
def test_a_second_word_is_found(made: str) -> None:
    assert list(second_words(made))
