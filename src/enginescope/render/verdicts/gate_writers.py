"""Writers of a gate: terminal, JSON, Markdown, JUnit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from xml.etree import ElementTree as ET

from msgspec import to_builtins

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow
from enginescope.render.base.data_table import escaped, markdown_row
from enginescope.render.verdicts.gate_phrases import (
    ROW_HEADERS,
    UNLISTED,
    answer_text,
    change_pct,
    details,
    figures_sentence,
    metric_text,
    row_cells,
    scope_facts,
    sentence,
    shown_notices,
)

#: Columns of the table of rows.
HEADERS = ("result", "job")


def gate_rows(report: GateReport, *, everything: bool = False) -> tuple[tuple[str, str], ...]:
    """Return what is listed below `HEADERS`, the worst first.

    Args:
        everything: Jobs without regression too.
    """
    return tuple(
        (row.outcome.value, "\n".join(_lines(report, row)))
        for row in report.rows
        if everything or row.outcome not in UNLISTED
    )


def _lines(report: GateReport, row: GateRow) -> Iterator[str]:
    yield row.job
    figures = figures_sentence(row)
    if figures:
        yield figures
    yield from details(row)
    for notice in shown_notices(report, row):
        yield f"{'!' if notice.level == 'warning' else '·'} {notice.message} ({notice.code})"


#: Version of the document's shape.
GATE_SCHEMA = 1


def gate_json(report: GateReport) -> bytes:
    """Return every row as strict JSON, those without regression too."""
    return encode(
        {
            "schema": GATE_SCHEMA,
            "enginescope": __version__,
            "passed": report.is_passed,
            "answer": answer_text(report),
            "baseline": report.baseline,
            "terms": report.terms,
            "jobs": report.jobs,
            "counts": {one.value: report.count(one) for one in GateOutcome},
            "rows": [_row(report, row) for row in report.rows],
            "notices": report.notices,
        }
    )


def _row(report: GateReport, row: GateRow) -> dict[str, Any]:
    verdict = row.verdict
    return {
        **to_builtins(row),
        "fails": report.fails(row),
        "change_pct": change_pct(verdict) if verdict else None,
    }


_MARKS = ("---", "---", "---", "---:", "---:", "---:", "---:", "---:")


def gate_markdown(report: GateReport) -> bytes:
    """Return the result, a table of what is to be seen, why, and the rest folded away."""
    listed = [row for row in report.rows if row.outcome not in UNLISTED]
    rest = [row for row in report.rows if row.outcome in UNLISTED]
    scope = "; ".join(f"{name} {text}" for name, text in scope_facts(report))
    lines = [
        f"### enginescope {escaped(answer_text(report))}",
        "",
        f"{escaped(scope)}.",
    ]
    if listed:
        lines += ["", *_table(report, listed)]
        lines += _reasons(report, listed)
    if report.notices:
        lines += [
            "",
            *(f"- {escaped(notice.message)} ({notice.code})" for notice in report.notices),
        ]
    if rest:
        title = f"{len(rest):,} without regression"
        lines += ["", f"<details><summary>{title}</summary>", "", *_table(report, rest)]
        lines += ["", "</details>"]
    return ("\n".join(lines) + "\n").encode()


def _table(report: GateReport, rows: Iterable[GateRow]) -> list[str]:
    return [
        markdown_row(ROW_HEADERS),
        markdown_row(_MARKS),
        *(markdown_row(_cells(report, row)) for row in rows),
    ]


def _cells(report: GateReport, row: GateRow) -> list[str]:
    result, job, *figures = map(escaped, row_cells(row))
    return [
        f"**{result}**" if report.fails(row) else result,
        job,
        *(figure.replace(" ", "\u00a0") for figure in figures),  # figures do not break
    ]


def _reasons(report: GateReport, rows: Iterable[GateRow]) -> list[str]:
    lines = []
    for row in rows:
        said = [escaped(detail) for detail in details(row)]
        said += [
            f"{escaped(notice.message)} ({notice.code})" for notice in shown_notices(report, row)
        ]
        metric = f", {escaped(metric_text(row))}" if row.metric else ""
        if said:
            lines.append(f"- {escaped(row.job)}{metric}: {'; '.join(said)}")
    return ["", *lines] if lines else []


#: What XML 1.0 cannot hold, however it is written.
_NO_CHARACTER = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SUITE = "enginescope gate"
#: Neither passed nor failed: there was nothing to compare with the baseline.
_SKIPPED = frozenset({GateOutcome.STILL_FAILING, GateOutcome.NO_BASELINE, GateOutcome.NEW})


def gate_junit(report: GateReport) -> bytes:
    """Return one suite with a test case for each job and metric.

    What regressed, is lost or cannot be compared is a failure, what does not run any more an
    error; an undecided one is skipped where it only warns.
    """
    suites = ET.Element("testsuites", {"name": _SUITE})
    suite = ET.SubElement(suites, "testsuite", {"name": _SUITE})
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
    suites.set("time", "0")
    suite.set("time", "0")
    suite.set("timestamp", (report.measured or "1970-01-01T00:00:00")[:19])
    suite.set("hostname", _text(report.host or "unknown"))
    ET.indent(suites)
    document: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _case(suite: ET.Element, report: GateReport, row: GateRow) -> str | None:
    """Add a row to the suite, and return what it counts as."""
    name = metric_text(row) if row.metric else "run"
    case = ET.SubElement(
        suite, "testcase", {"classname": _text(row.job), "name": _text(name), "time": "0"}
    )
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
    told = [row.outcome.value, *([figures] if figures else []), *notices]
    ET.SubElement(case, "system-out").text = _text("\n".join(told))
    return kind


def _kind(report: GateReport, row: GateRow) -> str | None:
    if row.outcome is GateOutcome.NEW_FAILURE:
        return "error"
    if report.fails(row):
        return "failure"
    is_open = row.outcome is GateOutcome.UNDECIDED and report.terms.undecided == "warn"
    return "skipped" if is_open or row.outcome in _SKIPPED else None


def _text(text: str) -> str:
    """Return `text` with what XML cannot hold as the sign for a lost character."""
    return _NO_CHARACTER.sub("\ufffd", text)
