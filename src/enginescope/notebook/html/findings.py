"""Lint findings in a notebook."""

from __future__ import annotations

from enginescope.notebook.html.fragment import data_table, fragment, paragraph
from enginescope.render.plans.findings import (
    FINDING_HEADERS,
    NUMBERS,
    RULE_HEADERS,
    SHOWN_GROUPS,
    group_rows,
    headline,
    rule_rows,
    stake_words,
)
from enginescope.rules.engine import LintReport

_NAME_WIDTH = 80


def findings_html(report: LintReport) -> str:
    """Return the findings with most time at stake, and what to do."""
    groups = report.groups
    more = len(groups) - SHOWN_GROUPS
    hidden = f"and {more:,} more; " if more > 0 else ""
    return fragment(
        headline(report),
        paragraph("no profile: nothing has a time at stake" if report.sum_ms is None else None),
        data_table("What to do", RULE_HEADERS, rule_rows(report), numbers=NUMBERS),
        data_table(
            "Findings",
            FINDING_HEADERS,
            group_rows(groups[:SHOWN_GROUPS], report.findings, name_width=_NAME_WIDTH),
            numbers=NUMBERS,
            note=(hidden + (stake_words(report) or "")).removesuffix("; ") or None,
        ),
    )
