"""Comparisons with their display."""

from __future__ import annotations

from enginescope.analysis.plan_comparison.comparison import THRESHOLD_PCT, Comparison
from enginescope.notebook.display import displayed, shown_as
from enginescope.notebook.verdicts import ShownVerdicts
from enginescope.services.verdicts import compare as compare_service


class ShownComparison(Comparison, frozen=True, kw_only=True):
    """Compared plans; in notebooks the answer and its tables, plain HTML."""

    def _summary(self) -> str:
        from enginescope.render.plan_comparison.compare_phrases import answer

        return answer(self, THRESHOLD_PCT)

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.comparison import comparison_html

        return comparison_html(self)


compare = displayed(compare_service.compare, shown_as(ShownVerdicts))
compare_plans = displayed(compare_service.compare_plans, shown_as(ShownComparison))
