"""Suites with their charts, as notebooks show them."""

from __future__ import annotations

from functools import cached_property

from enginescope.analysis.suites.suite_view import SuiteView
from enginescope.notebook.chart import ChartDisplay
from enginescope.notebook.display import displayed
from enginescope.render.suites.suite import suite_charts
from enginescope.render.suites.suite_phrases import counts_sentence
from enginescope.services.suites import opened
from enginescope.services.suites import run as suite_service


class ShownSuite(SuiteView):
    """A suite with the rows of its cells, and the charts of its page."""

    def _summary(self) -> str:
        return f"{self.result.name}: {counts_sentence(self.result)}"

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.suite import suite_html

        return suite_html(self.result)

    @cached_property
    def charts(self) -> dict[str, ChartDisplay]:
        """The charts of the suite's page by their keys: ``"suite_heat"``, …"""
        return {chart.key: ChartDisplay(chart) for chart in suite_charts(self.result)}


def _shown(view: SuiteView) -> ShownSuite:
    return ShownSuite(view.result)


open_suite = displayed(opened.open_suite, _shown)
run_suite = displayed(suite_service.run_suite, _shown)
