"""Lint findings in a notebook."""

from __future__ import annotations

from enginescope.notebook.html.fragment import data_table, fragment, paragraph
from enginescope.render.plans.findings import (
    FINDING_HEADERS,
    NUMBERS,
    RULE_HEADERS,
    finding_rows,
    headline,
    rule_rows,
)
from enginescope.rules.engine import LintReport

_TOP = 20
_NAME_WIDTH = 80


def findings_html(report: LintReport) -> str:
    """Return the findings with most time at stake, and what to do."""
    found = report.findings
    more = len(found) - _TOP
    hidden = f"and {more:,} more; " if more > 0 else ""
    words = "ms: what can be won at most" if report.sum_ms is not None and found else ""
    return fragment(
        headline(report),
        paragraph("no profile: nothing has a time at stake" if report.sum_ms is None else None),
        data_table(
            "Findings",
            FINDING_HEADERS,
            finding_rows(found[:_TOP], name_width=_NAME_WIDTH),
            numbers=NUMBERS,
            note=(hidden + words).removesuffix("; ") or None,
        ),
        data_table("What to do", RULE_HEADERS, rule_rows(found), numbers=NUMBERS),
    )
