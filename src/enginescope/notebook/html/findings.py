"""Lint findings in a notebook."""

from __future__ import annotations

from enginescope.notebook.html.fragment import data_table, fragment, paragraph
from enginescope.render.plans.findings import (
    NUMBERS,
    SHOWN_GROUPS,
    group_table,
    headline,
    rule_table,
    saving_words,
)
from enginescope.rules.engine import LintReport

_NAME_WIDTH = 80


def findings_html(report: LintReport) -> str:
    """Return the findings with the largest known savings, and what to do."""
    groups = report.groups
    more = len(groups) - SHOWN_GROUPS
    hidden = f"And {more:,} more. " if more > 0 else ""
    listed = group_table(groups[:SHOWN_GROUPS], report.findings, name_width=_NAME_WIDTH)
    return fragment(
        headline(report),
        paragraph("no profile: savings are not known" if report.sum_ms is None else None),
        data_table("What to do", *rule_table(report), numbers=NUMBERS),
        data_table(
            "Findings",
            *listed,
            numbers=NUMBERS,
            note=(hidden + (saving_words(report) or "")).strip() or None,
        ),
    )
