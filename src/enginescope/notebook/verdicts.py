"""Comparisons, gates, upgrades, histories, suites and findings, as notebooks show them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from enginescope.analysis.claims.layer_claims import Saving
from enginescope.analysis.frames import Frames
from enginescope.analysis.plan_comparison.comparison import Comparison
from enginescope.analysis.suites.suite_view import SuiteView
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import Verdict
from enginescope.notebook.chart import ChartDisplay, displays
from enginescope.notebook.display import Answered, displayed, shown_as, shown_by
from enginescope.records.verdict.contend import ContendReport
from enginescope.records.verdict.gate import GateReport
from enginescope.records.verdict.history import JobHistory
from enginescope.records.verdict.ladder import LadderReport
from enginescope.records.verdict.lottery import LotteryReport
from enginescope.records.verdict.sensitivity import SensitivityReport
from enginescope.records.verdict.tune import TuneReport
from enginescope.records.verdict.upgrade import ReleaseSearch, Reproduction, UpgradeReport
from enginescope.render.plans.findings import headline
from enginescope.render.suites.suite_answer import counts_sentence
from enginescope.render.suites.suite_pareto import pareto_charts
from enginescope.render.verdicts.verdict_phrases import headline_sentence
from enginescope.rules.engine import LintReport
from enginescope.services.contend import contend as contend_service
from enginescope.services.ladder import ladder as ladder_service
from enginescope.services.lottery import lottery as lottery_service
from enginescope.services.measurement import gate as gate_service
from enginescope.services.plans import lint as lint_service
from enginescope.services.sensitivity import sensitivity as sensitivity_service
from enginescope.services.suites import run as suite_service
from enginescope.services.tune import tune as tune_service
from enginescope.services.upgrade import reproduce as reproduce_service
from enginescope.services.upgrade import search as search_service
from enginescope.services.upgrade import upgrade as upgrade_service
from enginescope.services.verdicts import compare as compare_service
from enginescope.services.verdicts import history as history_service

if TYPE_CHECKING:
    from enginescope.render.html.answer_page import Answer


class ShownVerdicts(Answered, MeasuredComparison, frozen=True, kw_only=True, eq=False):
    """Sides with their verdicts: printed as sentences, in notebooks as tables, plain HTML."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the second side: of latency, or of what was sampled in its place."""
        return self.pairs[0].headline

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Return the notices of the verdicts, warnings first."""
        return measured_notices(self)

    @property
    def charts(self) -> dict[str, ChartDisplay]:
        """The charts of the page by key: ``"sides_hist"``; of three sides ``"side_A"``, …"""
        from enginescope.render.charts.overlay import process_medians, side_distributions

        return displays((*side_distributions(self), process_medians(self)))

    def _summary(self) -> str:
        return "; ".join(map(headline_sentence, self.pairs))

    answered_by = "verdicts.verdict_answer:verdict_answer"


class ShownComparison(Answered, Comparison, frozen=True, kw_only=True):
    """Compared plans; in notebooks the answer and its tables, plain HTML."""

    @property
    def charts(self) -> dict[str, ChartDisplay]:
        """The charts of the page by key: ``"waterfall"``; of three plans ``"waterfall_B"``, …"""
        from enginescope.render.compare.compare_page import waterfalls

        return displays(waterfalls(self))

    def _answer(self) -> Answer:
        from enginescope.render.compare.compare_answer import compare_answer
        from enginescope.render.plan_comparison.compare_tables import Chosen

        return compare_answer(self, Chosen())


class ShownGate(Answered, GateReport, frozen=True, kw_only=True):
    """A gate's report; in notebooks the result and its rows, plain HTML."""

    answered_by = "verdicts.gate_answer:gate_answer"


class ShownUpgrade(Answered, UpgradeReport, frozen=True, kw_only=True):
    """An upgrade; in notebooks the answer and its rows, plain HTML."""

    answered_by = "verdicts.upgrade_answer:upgrade_answer"


class ShownSearch(Answered, ReleaseSearch, frozen=True, kw_only=True):
    """A search among releases; in notebooks the answer and its comparisons, plain HTML."""

    answered_by = "verdicts.search_answer:search_answer"


class ShownReproduction(Answered, Reproduction, frozen=True, kw_only=True):
    """An upgrade that ran again; in notebooks the answer and its rows, plain HTML."""

    answered_by = "reproduction.reproduction_answer:reproduction_answer"


class ShownLadder(Answered, LadderReport, frozen=True, kw_only=True):
    """A ladder; in notebooks the answer, its rungs and its steps, plain HTML."""

    answered_by = "ladder.ladder_answer:ladder_answer"


class ShownContend(Answered, ContendReport, frozen=True, kw_only=True):
    """A contention test; in notebooks the answer and its tables, plain HTML."""

    answered_by = "contend.contend_answer:contend_answer"


class ShownLottery(Answered, LotteryReport, frozen=True, kw_only=True):
    """A lottery of builds; in notebooks the answer and its tables, plain HTML."""

    answered_by = "verdicts.lottery_answer:lottery_answer"


class ShownTune(Answered, TuneReport, frozen=True, kw_only=True):
    """A search for the fastest options; in notebooks the answer and its tables, plain HTML."""

    answered_by = "tune.tune_answer:tune_answer"


class ShownSensitivity(Answered, SensitivityReport, frozen=True, kw_only=True):
    """What layers lose in a lower precision; in notebooks the answer and its tables, plain HTML."""

    answered_by = "sensitivity.sensitivity_answer:sensitivity_answer"


class ShownHistory(JobHistory, frozen=True, kw_only=True):
    """A job's history; in notebooks its levels and their changes, plain HTML."""

    @property
    def charts(self) -> dict[str, ChartDisplay]:
        """The chart of the page: ``"history"``."""
        from enginescope.render.verdicts.history_page import history_charts

        return displays(history_charts([self]))

    def _summary(self) -> str:
        from enginescope.render.verdicts.history_text import title_text

        return title_text(self)

    _repr_html_ = shown_by("history_html")


class ShownSuite(SuiteView):
    """A suite with the rows of its cells, and the charts of its page."""

    def _summary(self) -> str:
        return f"{self.result.name}: {counts_sentence(self.result)}"

    def _repr_html_(self) -> str:
        from enginescope.notebook.html_fragments import suite_html

        return suite_html(self.result)

    @cached_property
    def charts(self) -> dict[str, ChartDisplay]:
        """The charts of the suite's page by their keys: ``"suite_pareto_1"``, …"""
        return displays(pareto_charts(self.result))


def _shown_suites(view: SuiteView) -> ShownSuite:
    return ShownSuite(view.result)


class ShownFindings(LintReport, Frames, frozen=True, kw_only=True):
    """Findings of a plan, with data frames; in notebooks a table, plain HTML."""

    def _summary(self) -> str:
        return headline(self)

    def columns(self) -> dict[str, list[Any]]:
        """Return the findings as columns, one row each."""
        columns: dict[str, list[Any]] = {}
        for name in ("code", "rule", "subject", "message", "advice"):
            columns[name] = [getattr(finding, name) for finding in self.findings]
        savings = [finding.saving.fields() for finding in self.findings]
        columns |= {name: [one[name] for one in savings] for name in Saving().fields()}
        columns["severity"] = [finding.severity.value for finding in self.findings]
        columns["layers"] = [list(finding.layers) for finding in self.findings]
        return columns

    _repr_html_ = shown_by("findings_html")


compare = displayed(compare_service.compare, shown_as(ShownVerdicts))
compare_plans = displayed(compare_service.compare_plans, shown_as(ShownComparison))
gate = displayed(gate_service.gate, shown_as(ShownGate))
upgrade = displayed(upgrade_service.upgrade, shown_as(ShownUpgrade))
search_releases = displayed(search_service.search_releases, shown_as(ShownSearch))
reproduce = displayed(reproduce_service.reproduce, shown_as(ShownReproduction))
contend = displayed(contend_service.contend, shown_as(ShownContend))
ladder = displayed(ladder_service.ladder, shown_as(ShownLadder))
lottery = displayed(lottery_service.lottery, shown_as(ShownLottery))
tune = displayed(tune_service.tune, shown_as(ShownTune))
sensitivity = displayed(sensitivity_service.sensitivity, shown_as(ShownSensitivity))
history = displayed(
    history_service.history, lambda histories: tuple(map(shown_as(ShownHistory), histories))
)
open_suite = displayed(suite_service.open_suite, _shown_suites)
run_suite = displayed(suite_service.run_suite, _shown_suites)
lint = displayed(lint_service.lint, shown_as(ShownFindings))
