from __future__ import annotations

import json

import msgspec

from enginescope.render.plans.findings import (
    FINDING_HEADERS,
    RULE_HEADERS,
    Linted,
    findings_json,
    findings_sarif,
    group_rows,
    headline,
    rule_rows,
    stake_words,
)
from enginescope.rules.base import LintInput
from enginescope.rules.catalogue import RULES, LintConfig
from enginescope.rules.engine import lint
from tests.rules.made import layer, plan, timed

PLAN = plan(
    layer("PointWise", "in FP16", "a FP16", name="first"),
    layer("Reformat", "a FP16", "b FP32", name="a copy of <many> words & signs to convert"),
    layer("Slice", "b FP32", "c FP16", name="slice"),
    layer("PointWise", "c FP16", "out FP16", name="last"),
)
TIMED = lint(LintInput(plan=PLAN, profile=timed(PLAN, 0.25, 0.0625, 0.125, 0.0625)))
UNTIMED = lint(LintInput(plan=PLAN))


def linted(source: str = "some dir/x.graph.json", **more: object) -> Linted:
    return Linted(source=source, plan=PLAN, report=TIMED, **more)


def test_the_headline() -> None:
    assert headline(TIMED) == "made (4 layers, sum 0.5000 ms): findings 2 warning, 3 info"
    assert headline(UNTIMED) == "made (4 layers): findings 2 warning, 1 info"
    none = msgspec.structs.replace(UNTIMED, findings=(), suppressed=3)
    assert headline(none) == "made (4 layers): findings none; 3 suppressed"


def test_rows() -> None:
    rows = group_rows(TIMED.groups, TIMED.findings, name_width=11)
    assert {len(row) for row in rows} == {len(FINDING_HEADERS)}
    largest = "each of 2 layers (first … slice) takes a quarter of the time or more"
    assert rows[0] == ("of 0.250", "of 50.0", "TIME201", "info", largest)
    assert rows[1] == ("0.125", "25.0", "PLAN105", "warning", "slice converts FP32 to FP16")
    assert rows[2] == ("0.0625", "12.5", "PLAN104", "warning", "a cop…nvert converts FP16 to FP32")
    assert group_rows(UNTIMED.groups, UNTIMED.findings)[0][:2] == ("—", "—")


def test_a_row_says_what_it_explains_and_what_else_to_do() -> None:
    made = plan(
        layer("Convolution", "in FP16 1x12x8x8", "a FP16 1x8x8x8", tactic_name="x_simt", name="c"),
        layer("Reformat", "a FP16", "out FP32", name="copy"),
    )
    report = lint(LintInput(plan=made))
    sentences = [row[4] for row in group_rows(report.groups, report.findings)]
    assert sentences == [
        "c has input channels 12, not a multiple of 8 (explains PLAN101)",
        "copy converts FP16 to FP32",  # the row of the rule says what to do
    ]
    assert rule_rows(report)[-1][4] == report.groups[1].advice


def test_a_place_says_what_to_do_where_the_rule_has_two_advices() -> None:
    made = plan(
        layer("PointWise", "in FP16", "a FP16"),
        layer("Reformat", "a FP16", "b FP32", name="inner"),
        layer("PointWise", "b FP32", "c FP32"),
        layer("Reformat", "c FP32", "out FP16", name="last"),
    )
    report = lint(LintInput(plan=made), LintConfig(select=("PLAN104",)))
    assert [row[4] for row in rule_rows(report)] == [
        next(rule.advice for rule in RULES if rule.code == "PLAN104")
    ]
    texts = [row[4] for row in group_rows(report.groups, report.findings)]
    assert texts == [
        "inner converts FP16 to FP32",
        f"last converts FP32 to FP16 → {report.groups[1].advice}",
    ]


def test_what_may_be_won_in_all() -> None:
    words = stake_words(TIMED)
    assert words is not None
    at_most = (
        "sorted by ms, the time that these findings could save at most: 0.1875 ms of 0.5000 ms "
        "in all"
    )
    assert words.startswith(at_most)
    assert stake_words(UNTIMED) is None
    given = LintInput(plan=PLAN, profile=timed(PLAN, 0.25, 0.0625, 0.125, 0.0625), whole_ms=0.492)
    assert "about 2.0 µs a layer" in (stake_words(lint(given)) or "")


def test_rows_of_rules() -> None:
    rows = rule_rows(TIMED)
    assert {len(row) for row in rows} == {len(RULE_HEADERS)}
    assert [row[:4] for row in rows] == [
        ("TIME201", "2", "of 0.250", "of 50.0"),
        ("PLAN105", "1", "0.125", "25.0"),
        ("PLAN104", "1", "0.0625", "12.5"),
        ("PLAN111", "1", "0", "0.0"),
    ]
    assert rows[0][4] == "begin with this layer"
    assert {row[2] for row in rule_rows(UNTIMED)} == {"—"}


def test_json() -> None:
    document = json.loads(findings_json([linted()]))
    (one,) = document["plans"]
    assert (document["schema"], one["source"], one["sum_ms"]) == (1, "some dir/x.graph.json", 0.5)
    found = next(it for it in one["findings"] if it["code"] == "PLAN104")
    assert found["layers"] == [{"index": 1, "name": PLAN.layers[1].name}]
    assert (found["severity"], found["stake_ms"], found["share_pct"]) == ("warning", 0.0625, 12.5)
    assert found["evidence"]["from"] == "FP16"
    assert (found["is_question"], found["symptoms"]) == (False, [])
    assert (one["engine_ms"], one["profiler_ms"], one["stake_ms"]) == (0.5, None, 0.1875)
    first, group = one["groups"][:2]
    assert (first["code"], first["stake_ms"], first["open_ms"]) == ("TIME201", None, 0.25)
    assert (group["code"], group["subject"], group["findings"]) == ("PLAN105", "slice", [1])
    assert (group["stake_ms"], group["open_ms"]) == (0.125, None)


def test_sarif() -> None:
    document = json.loads(findings_sarif([linted()]))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in RULES]
    assert all(rule["fullDescription"]["text"] for rule in rules)
    assert {rule["defaultConfiguration"]["level"] for rule in rules} <= {"note", "warning", "error"}
    one = next(it for it in run["results"] if it["ruleId"] == "PLAN104")
    assert rules[one["ruleIndex"]]["id"] == one["ruleId"] == "PLAN104"
    assert one["level"] == "warning"
    assert one["message"]["text"].startswith(f"{PLAN.layers[1].name} converts FP16 to FP32. Try: ")
    (place,) = one["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "some%20dir/x.graph.json"
    (logical,) = place["logicalLocations"]
    assert logical["fullyQualifiedName"] == f"made/1/{PLAN.layers[1].name}"
    prints = {it["partialFingerprints"]["ruleAndSubject/v1"] for it in run["results"]}
    assert len(prints) == len(run["results"])


def test_sarif_of_a_run_and_of_a_whole_path() -> None:
    stored = json.loads(findings_sarif([linted("abc123", is_file=False)]))
    assert "physicalLocation" not in stored["runs"][0]["results"][0]["locations"][0]
    whole = json.loads(findings_sarif([linted("/tmp/x y.json")]))
    place = whole["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "file:///tmp/x%20y.json"


def test_sarif_of_nothing_found() -> None:
    bare = msgspec.structs.replace(TIMED, findings=())
    document = json.loads(findings_sarif([Linted(source="x", plan=PLAN, report=bare)]))
    assert document["runs"][0]["results"] == []


def test_sarif_names_what_a_cause_explains() -> None:
    made = plan(
        layer("Convolution", "in FP16 1x12x8x8", "out FP16 1x8x8x8", tactic_name="x_simt", name="c")
    )
    report = lint(LintInput(plan=made))
    document = json.loads(findings_sarif([Linted(source="x", plan=made, report=report)]))
    (one,) = document["runs"][0]["results"]
    assert one["properties"]["symptoms"] == [
        "PLAN101 c does not use tensor cores: input channels 12"
    ]


def test_braces_of_names_are_no_arguments_in_sarif() -> None:
    made = plan(layer("Slice", "in FP16", "out FP32", name="{ForeignNode[a...b]}"))
    report = lint(LintInput(plan=made), LintConfig(select=("PLAN105",)))
    document = json.loads(findings_sarif([Linted(source="x", plan=made, report=report)]))
    (one,) = document["runs"][0]["results"]
    assert one["message"]["text"].startswith("{{ForeignNode[a...b]}} converts")
    assert one["locations"][0]["logicalLocations"][0]["name"] == "{ForeignNode[a...b]}"
