"""A gate's answer as Markdown, JUnit XML and SARIF: escaped, and of the shape that readers want."""

import json
import re
from functools import cache
from xml.etree import ElementTree as ET

import pytest

from enginescope.analysis.gate.gate import gate
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.run.job import BackendSpec
from enginescope.records.run.run import Run
from enginescope.records.verdict.gate import GateReport, GateTerms, Limit
from enginescope.render.base.answer_tables import answer_markdown as written_markdown
from enginescope.render.html.answer_page import written_page
from enginescope.render.verdicts.gate_answer import (
    RULES,
    answer_text,
    change_estimate,
    checked_text,
    figures_sentence,
    gate_answer,
    gate_json,
    gate_junit,
    gate_notices,
    gate_rows,
    gate_sarif,
    scope_facts,
    values_of,
)
from tests.analysis.gated_runs import crashed, job, process, processes

UNSTEADY = (0.0, 0.09, -0.08, 0.04, 0.05)
NASTY = '<script>alert("1")</script>|`x`\x1b[31m\x00]]>&{0}\ud7ff.onnx'


@cache
def report(name: str = "net.onnx", *, inconclusive: str = "measure") -> GateReport:
    """A regression, a failure, a lost job, an inconclusive one, one that holds."""
    jobs = [job(f"{one}{name}") for one in ("a", "b", "c", "d", "e")]
    baseline = [run for one in jobs[:3] for run in processes(4.0, of=one)]
    baseline += processes(4.0, of=jobs[3], apart=UNSTEADY) + processes(4.0, of=jobs[4])
    current = [
        *processes(4.2, of=jobs[0], first=60),
        crashed(60, of=jobs[1]),
        *processes(4.0, of=jobs[3], first=60, apart=UNSTEADY),
        *processes(4.0, of=jobs[4], first=60),
    ]
    return gate(baseline, current, GateTerms(inconclusive=inconclusive), name="main")


def gate_markdown(found: GateReport) -> str:
    return written_markdown(gate_answer(found)).decode()


# what the XSD of Jenkins' JUnit reports asks for; Ant's asks for `time` too, which is unknown
_REQUIRED = {
    "testsuite": ("name", "tests", "failures", "errors", "timestamp", "hostname"),
    "testcase": ("name", "classname"),
    "property": ("name", "value"),
    **dict.fromkeys(("failure", "error"), ("type", "message")),
    **dict.fromkeys(("testsuites", "properties", "skipped", "system-out"), ()),
}
_CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}


@pytest.mark.parametrize("name", ["net.onnx", NASTY])
def test_junit_has_the_usual_shape(name) -> None:
    root = ET.fromstring(gate_junit(report(name)))
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(_REQUIRED[element.tag]) <= set(element.attrib), element.tag
        assert {one.tag for one in element} <= _CHILDREN.get(element.tag, set())
    (suite,) = root
    properties, *cases = suite
    about = {one.get("name"): one.get("value") for one in properties}
    assert about["checked"].startswith("3 metrics of 3 jobs: 1 regression, 1 inconclusive")
    assert "time" not in {name for element in root.iter() for name in element.attrib}
    assert suite.get("tests") == str(len(cases)) == "5"
    for kind, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert suite.get(total) == str(len(list(suite.iter(kind))))
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("3", "1", "0")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
    for case in cases:
        assert len([one for one in case if one.tag != "system-out"]) <= 1


def test_names_are_escaped_in_junit_and_sarif() -> None:
    text = gate_junit(report(NASTY)).decode()
    assert "\x00" not in text
    assert "\x1b" not in text
    assert "<script>" not in text
    case = next(ET.fromstring(text).iter("testcase"))
    assert case.get("classname").startswith('a<script>alert("1")</script>|`x`\ufffd[31m\ufffd]]>&')
    messages = [one["message"]["text"] for one in sarif(NASTY)["runs"][0]["results"]]
    assert all("{{0}}" in one for one in messages)


@pytest.mark.parametrize(
    ("policy", "heading", "kind", "level"),
    [
        (
            "pass",
            "gate passed: no regression found; 1 of 1 metric is inconclusive, treated as passed",
            *("system-out", "note"),
        ),
        *(
            (
                policy,
                "gate inconclusive: no regression found, but 1 of 1 metric is inconclusive",
                *("failure", "error"),
            )
            for policy in ("measure", "fail")
        ),
    ],
)
def test_what_is_inconclusive_has_the_level_of_its_policy(policy, heading, kind, level) -> None:
    """`gate passed` stood above an inconclusive difference of +21.7 %."""
    inconclusive = gate([process(4.0)], [process(4.1, 60)], GateTerms(inconclusive=policy))
    assert answer_text(inconclusive) == heading
    root = ET.fromstring(gate_junit(report(inconclusive=policy)))
    case = next(one for one in root.iter("testcase") if one.get("classname").startswith("dnet"))
    assert case[0].tag == kind
    (run,) = json.loads(gate_sarif(report(inconclusive=policy)))["runs"]
    rules = {
        one["id"]: one["defaultConfiguration"]["level"] for one in run["tool"]["driver"]["rules"]
    }
    results = {one["ruleId"]: one["level"] for one in run["results"]}
    for code, wanted in {"GATE005": level, "GATE001": "error", "GATE006": "warning"}.items():
        assert (rules[code], results[code]) == (wanted, wanted)


def sarif(name: str = "net.onnx", **more) -> dict:
    return json.loads(gate_sarif(report(name), **more))


@pytest.mark.parametrize("name", ["net.onnx", NASTY])
def test_sarif_has_what_2_1_0_requires(name) -> None:
    document = sarif(name)
    assert document["version"] == "2.1.0"
    assert document["$schema"].startswith("https://")
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "enginescope"
    ids = [one["id"] for one in driver["rules"]]
    assert len(set(ids)) == len(ids) == len(RULES)
    for rule in driver["rules"]:
        assert set(rule) >= {"id", "name", "shortDescription", "fullDescription", "help"}
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    for result in run["results"]:
        assert result["message"]["text"]
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        for place in result["locations"]:
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            assert not set(uri) & set(' <>"{}|\\^`\x00\x1b')
            assert all(one["fullyQualifiedName"] for one in place["logicalLocations"])
    found = [(one["ruleId"], one["level"]) for one in run["results"]]
    errors = [(f"GATE00{number}", "error") for number in (1, 2, 3, 5)]
    assert found == [*errors, ("GATE006", "warning")]


def test_sarif_names_models_below_the_root_relative_to_it() -> None:
    for root, uri in (("/models", "anet.onnx"), ("/elsewhere", "file:///models/anet.onnx")):
        places = [one["locations"][0] for one in sarif(root=root)["runs"][0]["results"]]
        assert uri in {one["physicalLocation"]["artifactLocation"]["uri"] for one in places}


def cells(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line)[1:-1]


def test_markdown_keeps_the_columns_of_its_tables_and_folds_what_holds() -> None:
    text = gate_markdown(report(NASTY))
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(cells(line)) for line in tables} == {7, 8}
    assert "<script>" not in text
    assert re.search(r"(?<!\\)`", text) is None
    assert "| ✗ regression |" in text
    assert "| ? inconclusive |" in text  # a cross means worse
    assert "| inconclusive |" in gate_markdown(report(inconclusive="pass"))
    text = gate_markdown(report())
    head, _, folded = text.partition("<details>")
    assert "no regression" not in head.partition("\n")[2]
    assert "enet.onnx" in folded
    assert "enet.onnx" not in head
    assert folded.count("| no regression |") == folded.count("</details>") == 1


def test_the_next_step_is_the_advice_of_the_worst_row_with_its_runs() -> None:
    found = report()
    (first, why), (name, text), *_ = gate_answer(found).facts
    worst = found.rows[0]
    assert (first, why) == ("why", f"{worst.job}: {figures_sentence(worst)}")
    before, after = worst.baseline[-1], worst.current[-1]
    compare, history = f"compare {before} {after}", f"history {worst.model}"
    advice = f"Look for the cause: enginescope {compare}, enginescope {history}."
    assert (name, text) == ("next", advice)
    page = re.sub("</?span>", "", written_page(gate_answer(found)).decode())
    assert page.index('<p class="step"><strong>Next</strong> Look for') < page.index("<table>")
    assert ", ".join([f"<code>enginescope {one}</code>" for one in (compare, history)]) in page
    assert "<dt>next</dt>" not in page
    assert gate_answer(replace(found, rows=found.rows[-1:])).facts[0][0] == "baseline"


def test_options_that_all_jobs_share_are_said_once() -> None:
    backend = BackendSpec(name="trt", options={"device_id": 1, "tf32": 0})
    jobs = [replace(job(f"{name}.onnx"), backend=backend) for name in "ab"]
    before, after = (
        [run for one in jobs for run in processes(4.0, of=one, first=at)] for at in (0, 60)
    )
    found = gate(before, after, GateTerms(), name="main")
    answered = gate_answer(found)
    names = [row[1] for row in answered.tables[0].rows[:2]]
    assert {name.partition(" · batch")[0] for name in names} == {"a.onnx · trt", "b.onnx · trt"}
    assert dict(answered.facts)["jobs"] == "options of all: device_id=1 & tf32=0"
    assert "?device_id=1&tf32=0" in json.loads(gate_json(found))["rows"][0]["job"]


def test_a_page_has_the_answer_the_chart_and_what_holds_folded_away() -> None:
    page = written_page(gate_answer(report(NASTY))).decode()
    assert '<h1 class="bad">Gate failed: 1 regression' in page
    assert "chart-gate_changes" in page
    assert page.index("✗ regression") < page.rindex("Without regression: 1 metric")
    assert '<section id="without">' in page
    assert "gate.json" in page
    assert "<script>alert" not in page


def passed(median_ms: float = 3.6, *, count: int = 1) -> GateReport:
    jobs = [job(f"{at}.onnx") for at in range(count)]
    before = [run for of in jobs for run in processes(4.0, of=of)]
    after = [run for of in jobs for run in processes(median_ms, of=of, first=60)]
    return gate(before, after, GateTerms(), name="main")


def test_a_gate_that_passed_states_the_change() -> None:
    latency = r"latency of 0.onnx −1\d\.\d % \(95 % CI −\S+ … −\S+ %\)"
    assert re.fullmatch(rf"gate passed: no regression; {latency}", answer_text(passed()))
    assert answer_text(passed(count=3)) == "gate passed: no regression in 3 metrics, 3 improved"
    assert answer_text(passed(4.0, count=2)) == "gate passed: no regression in 2 metrics"


def test_what_all_jobs_differ_in_stands_below_the_answer_and_in_no_row() -> None:
    found = passed()
    text = "the current side differs from the baseline in precision: default → fp16"
    meant = Notice(code="I-MEANT", message=text, level="info")
    load = Notice(code="W-LOAD", message="0.1 of 16 cores busy")
    (row,) = found.rows
    answered = gate_answer(replace(found, rows=(replace(row, notices=(meant, load)),)))
    facts = dict(answered.facts)
    baseline, current = values_of(row)
    assert facts["baseline"].endswith(f": {baseline}")
    differs = "differs from the baseline in precision: default → fp16"
    assert facts["current"] == f"{current}; {differs}"
    assert load in answered.notices
    assert "W-LOAD" not in answered.tables[0].rows[0][-1] + answered.screen[0].rows[0][1]
    page = written_page(answered).decode()
    assert page.index(f"<strong>Current</strong> {current}; differs") < page.index(
        'class="warning"'
    )
    assert page.index('class="warning"') < page.index("chart-gate_changes")
    two = passed(count=2)
    first, second = two.rows
    answered = gate_answer(replace(two, rows=(replace(first, notices=(meant,)), second)))
    assert "current" not in dict(answered.facts)
    assert text in answered.tables[0].rows[0][-1]


def test_the_interval_of_a_table_and_the_limit_of_the_chart_are_labelled() -> None:
    answered = gate_answer(passed())
    assert answered.tables[0].headers[6] == "95 % CI"
    (chart,) = answered.charts
    assert chart.subtitle == ("Lines: 95 % CI; dashed: equal; solid: the limit",)
    labels = [
        (row["label"], row["value"])
        for layer in chart.spec["layer"]
        for row in layer.get("data", {}).get("values", ())
        if layer["mark"]["type"] == "text"
    ]
    assert labels == [("limit +2.0 %", pytest.approx(2.0))]
    (row,) = passed().rows
    rate = replace(row.verdict, higher_is_better=True)
    assert change_estimate("x", rate, "improvement").limit == pytest.approx(-1.96, abs=0.01)


def test_json_and_the_terminal_have_every_row() -> None:
    found = json.loads(gate_json(report()))
    outcomes = ["regression", "new failure", "lost coverage", "inconclusive", "no regression"]
    assert [row["outcome"] for row in found["rows"]] == outcomes
    assert [row["fails"] for row in found["rows"]] == [True, True, True, True, False]
    first = found["rows"][0]
    assert first["change_pct"] == pytest.approx(5.0, abs=0.2)
    assert len(first["baseline"]) == len(first["current"]) == 5
    rows = dict(gate_rows(report()).rows)
    assert re.search(r"\+5\.0 % \(96\.67 % CI \+4\.\d … \+5\.\d %\), limit 2 %", rows["regression"])
    assert "segmentation fault" in rows["new failure"]
    assert "W-FLAKY-BASELINE" in rows["inconclusive"]
    assert "no regression" not in rows
    assert "no regression" in dict(gate_rows(report(), everything=True).rows)


def test_a_notice_of_several_rows_is_shown_once_with_their_number() -> None:
    def said(found: GateReport) -> list[str]:
        return [notice.message for notice in gate_notices(found)]

    made = report()
    loads = [Notice(code="W-LOAD", message=f"{load} % load") for load in (8, 8, 9)]
    steal = Notice(code="W-STEAL", message="2 % stolen")
    rows = [
        replace(row, notices=(load, *((steal,) if load.message == "9 % load" else ())))
        for row, load in zip(made.rows, loads, strict=False)
    ]
    busy = replace(made, rows=(*rows, *(replace(row, notices=()) for row in made.rows[3:])))
    told = "8 % load; this or a similar notice in 3 rows"
    assert said(busy) == [*said(made), told]
    lines = "\n".join(text for _, text in gate_rows(busy).rows)
    assert "W-LOAD" not in lines
    assert "2 % stolen (W-STEAL)" in lines
    markdown = gate_markdown(busy)
    assert markdown.count("W-LOAD") == markdown.count(f"- {told} (W-LOAD)") == 1
    alike = replace(busy, rows=tuple(replace(row, notices=loads[:1]) for row in busy.rows[:2]))
    assert said(alike)[-1] == "8 % load; in 2 rows"


def test_figures_without_an_interval() -> None:
    def side(ms: float, first: int, mib: int) -> list[Run]:
        return [process(ms, first + at, peak_memory_bytes=mib << 20) for at in (0, 1)]

    limits = GateTerms(limits=(Limit(metric="peak_memory", regression_pct=2),))
    ((_, text),) = gate_rows(gate(side(4.0, 0, 100), side(4.4, 60, 110), limits)).rows
    assert ", +10.0 %, limit 2 %" in text
    assert "an interval needs 3 processes a side" in text


def test_metrics_are_counted_as_metrics_of_jobs() -> None:
    """Two metrics of one job were "1 inconclusive, 1 without regression" under "1 job"."""
    limits = tuple(Limit(metric=one, regression_pct=2) for one in ("latency", "peak_memory"))
    more = {"peak_memory_bytes": 100 << 20}
    before = [process(4.0, at, **more) for at in range(3)]
    two = gate(before, [process(4.1, 60, **more)], GateTerms(limits=limits))
    checked = checked_text(two)
    assert checked.startswith("2 metrics of 1 job: ")
    assert "inconclusive" in checked
    assert json.loads(gate_json(two))["checked"] == checked
    assert checked in gate_markdown(two)
    (run,) = json.loads(gate_sarif(two))["runs"]
    assert run["properties"] == {"answer": answer_text(two), "checked": checked}
    assert f'name="checked" value="{checked}"' in gate_junit(two).decode()


def test_every_form_names_the_evidence_and_counts_whole_jobs_apart() -> None:
    found = report()
    rows = json.loads(gate_json(found))["rows"]
    evidence = {"separate processes": True, None: False}
    assert all(evidence[row["evidence"]] is bool(row["verdict"]) for row in rows)
    assert dict(scope_facts(found))["evidence"] == "separate processes"
    assert "evidence: separate processes" in gate_markdown(found)
    messages = [one["message"]["text"] for one in sarif()["runs"][0]["results"]]
    assert sum("separate processes" in text for text in messages) == 2
    kinds = "1 regression, 1 new failure, 1 lost job, 1 inconclusive metric"
    assert answer_text(found) == f"gate failed: {kinds}"
    assert checked_text(found) == (
        "3 metrics of 3 jobs: 1 regression, 1 inconclusive, 1 without regression; "
        "2 whole jobs: 1 new failure, 1 lost"
    )
