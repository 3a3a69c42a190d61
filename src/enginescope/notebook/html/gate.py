"""A gate's report in a notebook."""

from __future__ import annotations

from enginescope.notebook.html.fragment import data_table, fact_list, fragment, notice_list
from enginescope.records.verdict.gate import GateReport, GateRow
from enginescope.render.verdicts.gate_phrases import (
    ROW_HEADERS,
    answer_text,
    details,
    row_cells,
    scope_facts,
    shown_notices,
)

_NUMBERS = ("Baseline", "Current", "Change", "Interval", "Limit")


def gate_html(report: GateReport) -> str:
    """Return the result, its scope, and every row with its reasons."""
    return fragment(
        answer_text(report),
        fact_list(scope_facts(report)),
        notice_list(report.notices),
        data_table(
            "Jobs",
            (*ROW_HEADERS, "Why"),
            ((*row_cells(row), _reasons(report, row)) for row in report.rows),
            numbers=_NUMBERS,
        ),
    )


def _reasons(report: GateReport, row: GateRow) -> str:
    notices = (f"{notice.message} ({notice.code})" for notice in shown_notices(report, row))
    return "; ".join((*details(row), *notices))
