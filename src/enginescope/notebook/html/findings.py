"""Lint findings in a notebook."""

from __future__ import annotations

from enginescope.notebook.html.fragment import fragment, paragraph, text_table
from enginescope.render.plans.findings import SHOWN_GROUPS, group_table, headline, rule_table
from enginescope.rules.engine import LintReport

_NAME_WIDTH = 80


def findings_html(report: LintReport) -> str:
    """Return the findings with the largest known savings, and what to do."""
    return fragment(
        headline(report),
        paragraph("no profile: savings are not known" if report.sum_ms is None else None),
        text_table(rule_table(report)),
        text_table(group_table(report, SHOWN_GROUPS, name_width=_NAME_WIDTH)),
    )
