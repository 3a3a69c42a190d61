"""JUnit XML of a gate."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow
from enginescope.render.verdicts.gate_answer import (
    answer_text,
    checked_text,
    details,
    figures_sentence,
    metric_text,
    outcome_text,
    sentence,
    shown_notices,
)

#: What XML 1.0 cannot hold, however it is written.
_NO_CHARACTER = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SUITE = "enginescope gate"
#: Neither passed nor failed: there was nothing to compare with the baseline.
_SKIPPED = frozenset({GateOutcome.STILL_FAILING, GateOutcome.NO_BASELINE, GateOutcome.NEW})


def gate_junit(report: GateReport) -> bytes:
    """Return one suite with a test case for each job and metric.

    What regressed, is lost or cannot be compared is a failure, what does not run any more an
    error; an inconclusive one is a failure of its own type. There is no ``time``: a row compares
    processes of two sides, and has no duration of its own.
    """
    suites = ET.Element("testsuites", {"name": _SUITE})
    suite = ET.SubElement(suites, "testsuite", {"name": _SUITE})
    properties = ET.SubElement(suite, "properties")
    for name, text in (("answer", answer_text(report)), ("checked", checked_text(report))):
        ET.SubElement(properties, "property", {"name": name, "value": _text(text)})
    kinds = [_case(suite, report, row) for row in report.rows]
    counts = {
        "tests": len(kinds),
        "failures": kinds.count("failure"),
        "errors": kinds.count("error"),
        "skipped": kinds.count("skipped"),
    }
    for name, count in counts.items():
        suite.set(name, str(count))
        if name != "skipped":  # the outer element has no such attribute
            suites.set(name, str(count))
    suite.set("timestamp", (report.measured or "1970-01-01T00:00:00")[:19])
    suite.set("hostname", _text(report.host or "unknown"))
    ET.indent(suites)
    document: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _case(suite: ET.Element, report: GateReport, row: GateRow) -> str | None:
    """Add a row to the suite, and return what it counts as."""
    name = metric_text(row) if row.metric else "run"
    case = ET.SubElement(suite, "testcase", {"classname": _text(row.job), "name": _text(name)})
    kind = _kind(report, row)
    notices = [f"{notice.message} ({notice.code})" for notice in shown_notices(report, row)]
    if kind is not None:
        said = ET.SubElement(case, kind, {"message": _text(sentence(row))})
        if kind != "skipped":
            said.set("type", row.outcome.value)
            lines = [row.job, figures_sentence(row), *details(row), *notices]
            said.text = _text("\n".join(line for line in lines if line))
            return kind
    figures = figures_sentence(row)
    told = [outcome_text(row.outcome), *([figures] if figures else []), *notices]
    ET.SubElement(case, "system-out").text = _text("\n".join(told))
    return kind


def _kind(report: GateReport, row: GateRow) -> str | None:
    if row.outcome is GateOutcome.NEW_FAILURE:
        return "error"
    if report.fails(row):
        return "failure"
    return "skipped" if row.outcome in _SKIPPED else None


def _text(text: str) -> str:
    """Return `text` with what XML cannot hold as the sign for a lost character."""
    return _NO_CHARACTER.sub("\ufffd", text)
