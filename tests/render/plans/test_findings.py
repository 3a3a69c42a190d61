import json
from typing import Any

from enginescope.analysis.claims.layer_claims import WholeRequest
from enginescope.core.record import replace
from enginescope.records.plan.plan import Plan
from enginescope.render.base.figures import TextTable
from enginescope.render.plans import findings
from enginescope.rules.catalogue import RULES, LintConfig
from enginescope.rules.engine import LintReport, lint
from enginescope.rules.view import LintInput
from tests.rules.made import layer, plan, timed

PLAN = plan(
    layer("PointWise", "in FP16", "a FP16", name="first"),
    layer("Reformat", "a FP16", "b FP32", name="a copy of <many> words & signs to convert"),
    layer("Slice", "b FP32", "c FP16", name="slice"),
    layer("PointWise", "c FP16", "out FP16", name="last"),
)
TIMED = lint(LintInput(plan=PLAN, profile=timed(PLAN, 0.25, 0.0625, 0.125, 0.0625)))
UNTIMED = lint(LintInput(plan=PLAN))


def sarif(source: str = "x", plan: Plan = PLAN, report: LintReport = TIMED, **more: object) -> Any:
    """Return the one run of a SARIF document."""
    one = findings.Linted(source=source, plan=plan, report=report, **more)
    (run,) = json.loads(findings.findings_sarif([one]))["runs"]
    return run


def linted(source: str = "some dir/x.graph.json", **more: object) -> findings.Linted:
    return findings.Linted(source=source, plan=PLAN, report=TIMED, **more)


def test_the_headline() -> None:
    assert findings.headline(TIMED) == "made (4 layers, sum 0.5000 ms): findings 2 warning, 1 info"
    assert findings.headline(UNTIMED) == "made (4 layers): findings 2 warning, 1 info"
    none = replace(UNTIMED, findings=(), suppressed=3)
    assert findings.headline(none) == "made (4 layers): findings none; 3 suppressed"


def rows_of(table: TextTable | None) -> list[dict[str, str]]:
    return [dict(zip(table.headers, row, strict=True)) for row in table.rows]


def test_rows() -> None:
    first, second, _ = rows_of(findings.group_table(TIMED, None, name_width=11))
    assert first == {
        "finding": "slice converts FP32 to FP16",
        "ms": "0.1250",
        "%": "25.0",
        "code": "PLAN105",
        "severity": "warning",
    }
    assert second["finding"] == "a cop…nvert converts FP16 to FP32"
    assert [first["ms"], second["ms"]] == ["0.1250", "0.0625"]
    assert list(rows_of(findings.group_table(UNTIMED, None))[0]) == ["finding", "code", "severity"]
    limited = findings.group_table(TIMED, 1)
    assert (len(limited.rows), limited.left_out) == (1, 2)


def test_a_row_says_what_it_explains_and_what_else_to_do() -> None:
    made = plan(
        layer("Convolution", "in FP16 1x64x8x8", "a FP16 1x12x8x8", tactic_name="x_simt", name="c"),
        layer("Reformat", "a FP16", "b FP32", name="copy"),
    )
    report = lint(LintInput(plan=made))
    assert [row["finding"] for row in rows_of(findings.group_table(report, None))] == [
        "c has output channels 12, not a multiple of 8 (explains PLAN101)",
        "copy converts FP16 to FP32",  # the row of the rule says what to do
    ]
    assert rows_of(findings.rule_table(report))[-1]["what to do"] == report.groups[1].advice


def test_a_place_says_what_to_do_where_the_rule_has_two_advices() -> None:
    made = plan(
        layer("PointWise", "in FP16", "a FP16"),
        layer("Reformat", "a FP16", "b FP32", name="inner"),
        layer("PointWise", "b FP32", "c FP32"),
        layer("Reformat", "c FP32", "out FP16", name="last"),
    )
    report = lint(LintInput(plan=made), LintConfig(select=("PLAN104",)))
    assert [row["what to do"] for row in rows_of(findings.rule_table(report))] == [
        next(rule.advice for rule in RULES if rule.code == "PLAN104")
    ]
    assert [row["finding"] for row in rows_of(findings.group_table(report, None))] == [
        "inner converts FP16 to FP32",
        f"last converts FP32 to FP16 → {report.groups[1].advice}",
    ]


def test_what_may_be_won_in_all() -> None:
    words = findings.saving_words(TIMED)
    assert words.startswith("These findings save at most 0.1875 ms of 0.5000 ms (37.5 %). --gpu")
    assert findings.saving_words(UNTIMED) is None
    given = LintInput(
        plan=PLAN,
        profile=timed(PLAN, 0.25, 0.0625, 0.125, 0.0625),
        whole=WholeRequest("gpu_compute", 0.492),
    )
    assert "about 2.0 µs a layer" in (findings.saving_words(lint(given)) or "")


def test_rows_of_rules() -> None:
    rows = rows_of(findings.rule_table(TIMED))
    assert list(rows[0]) == ["what to do", "code", "n", "ms", "%"]
    assert [tuple(row.values())[1:] for row in rows] == [
        ("PLAN105", "1", "0.1250", "25.0"),
        ("PLAN104", "1", "0.0625", "12.5"),
        ("PLAN111", "1", "0.0000", "0.0"),
    ]
    assert list(rows_of(findings.rule_table(UNTIMED))[0]) == ["what to do", "code", "n"]
    assert findings.rule_table(replace(UNTIMED, findings=())) is None


def test_json() -> None:
    document = json.loads(findings.findings_json([linted()]))
    (one,) = document["plans"]
    assert (document["schema"], one["source"], one["sum_ms"]) == (1, "some dir/x.graph.json", 0.5)
    found = next(it for it in one["findings"] if it["code"] == "PLAN104")
    assert found["layers"] == [{"index": 1, "name": PLAN.layers[1].name}]
    assert (found["severity"], found["saving"]["bound_ms"]) == ("warning", 0.0625)
    assert found["saving"]["bound_pct"] == 12.5
    assert found["evidence"]["from"] == "FP16"
    assert (found["is_question"], found["symptoms"]) == (False, [])
    assert (one["engine_ms"], one["profiler_ms"]) == (0.5, None)
    assert one["saving"]["bound_ms"] == 0.1875
    group = one["groups"][0]
    assert (group["code"], group["subject"], group["findings"]) == ("PLAN105", "slice", [0])
    assert (group["saving"]["bound_ms"], group["saving"]["unknown_of_ms"]) == (0.125, None)


def test_sarif() -> None:
    assert json.loads(findings.findings_sarif([linted()]))["version"] == "2.1.0"
    run = sarif("some dir/x.graph.json")
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


def test_sarif_has_a_place_for_every_source_and_none_without_findings() -> None:
    (stored, *_), (whole, *_) = (
        sarif(source, is_file=is_file)["results"]
        for source, is_file in (("abc123", False), ("/tmp/x y.json", True))
    )
    assert "physicalLocation" not in stored["locations"][0]
    place = whole["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "file:///tmp/x%20y.json"
    assert sarif(report=replace(TIMED, findings=()))["results"] == []


def test_sarif_names_what_a_cause_explains_and_braces_are_no_arguments() -> None:
    made = plan(
        layer("Convolution", "in FP16 1x64x8x8", "a FP16 1x12x8x8", tactic_name="x_simt", name="c")
    )
    (one,) = sarif(plan=made, report=lint(LintInput(plan=made)))["results"]
    assert one["properties"]["symptoms"] == ["PLAN101 c does not use tensor cores"]
    made = plan(layer("Slice", "in FP16", "out FP32", name="{ForeignNode[a...b]}"))
    report = lint(LintInput(plan=made), LintConfig(select=("PLAN105",)))
    (one,) = sarif(plan=made, report=report)["results"]
    assert one["message"]["text"].startswith("{{ForeignNode[a...b]}} converts")
    assert one["locations"][0]["logicalLocations"][0]["name"] == "{ForeignNode[a...b]}"
