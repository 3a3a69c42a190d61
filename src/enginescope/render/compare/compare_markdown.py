"""A comparison as Markdown, for a pull request or a release note."""

from __future__ import annotations

from enginescope.analysis.plan_comparison.comparison import Comparison
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.render.base.markdown_table import escaped
from enginescope.render.plan_comparison.compare_phrases import answer, pairing_sentence
from enginescope.render.plan_comparison.compare_tables import (
    Chosen,
    CompareTable,
    explanation_table,
    facts_table,
)
from enginescope.render.verdicts.verdict_markdown import markdown_table, verdict_markdown


def compare_markdown(
    measured: MeasuredComparison | None, plans: Comparison | None, chosen: Chosen
) -> str:
    """Return verdicts, then the plans: their answer, what explains it, what is known of each."""
    lines = ["# Comparison", ""]
    if measured is not None:
        lines += [verdict_markdown(measured)]
    if plans is not None:
        lines += ["## Plans", ""]
        lines += [f"- **{plan.label}** {escaped(plan.name)}" for plan in plans.overview.plans]
        lines += ["", f"**{escaped(answer(plans, chosen.threshold_pct))}**", ""]
        if plans.layers is not None:
            lines += [f"{escaped(pairing_sentence(plans.layers, plans.overview.plans))}.", ""]
            lines += _titled(explanation_table(plans.layers, chosen.top))
        lines += _titled(facts_table(plans.overview))
    return "\n".join(lines).rstrip("\n") + "\n"


def _titled(table: CompareTable) -> list[str]:
    return [f"### {escaped(table.title)}", "", *markdown_table(table), ""]
