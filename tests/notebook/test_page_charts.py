"""Every chart of a page is on the result that Python returns, under the same key."""

from collections.abc import Callable
from typing import Any

import pytest

import enginescope as es
from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.notebook.display import Answered, shown_as
from enginescope.notebook.measure import ShownRun, ShownShapes, ShownValidation
from enginescope.notebook.verdicts import (
    ShownComparison,
    ShownHistory,
    ShownLadder,
    ShownSuite,
    ShownVerdicts,
)
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.html.answer_page import written_page
from enginescope.render.page.page import report_page
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.suites.suite_page import suite_page
from enginescope.render.verdicts.history_page import history_page
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.historic_runs import over_days
from tests.analysis.in_turn import in_turn, named
from tests.analysis.shapes import simulated as shapes
from tests.render.gpu_runs import gpu_run
from tests.render.page.test_page import Page
from tests.render.suites.test_suite_matrix import of
from tests.render.validation import test_validate_answer as validations
from tests.render.verdicts import test_ladder_files as ladders
from tests.suites.made import result


def run() -> tuple[Any, bytes]:
    return ShownRun(gpu_run()), report_page([RunView(gpu_run())])


def verdicts() -> tuple[Any, bytes]:
    found = compare_sides(named(*in_turn(1.05)))
    return shown_as(ShownVerdicts)(found), compare_page(None, Chosen(), measured=found)


def plans() -> tuple[Any, bytes]:
    found = compare([run_a(), run_b()])
    return shown_as(ShownComparison)(found), compare_page(found, Chosen())


def history() -> tuple[Any, bytes]:
    (found,) = es.history([RunView(one) for one in over_days([1.0] * 8 + [1.2] * 8)])
    assert isinstance(found, ShownHistory)
    return found, history_page([found], model="net")


def suite() -> tuple[Any, bytes]:
    found = result([of("net", "ort-cpu", 8.0, error=0.0), of("net", "ort-cuda", 2.0, error=1e-6)])
    return ShownSuite(found), suite_page(found)


def answered(shown: Answered) -> tuple[Any, bytes]:
    return shown, written_page(shown._answer())


def validation() -> tuple[Any, bytes]:
    found = validations.found(validations.side("fine", 1e-4), validations.side("broken", 0.5))
    return answered(shown_as(ShownValidation)(found))


PAGES: dict[str, Callable[[], tuple[Any, bytes]]] = {
    "run": run,
    "verdicts": verdicts,
    "plans": plans,
    "history": history,
    "suite": suite,
    "validation": validation,
    "shapes": lambda: answered(shown_as(ShownShapes)(shapes.report())),
    "ladder": lambda: answered(shown_as(ShownLadder)(ladders.report())),
}


@pytest.mark.parametrize("kind", PAGES)
def test_every_chart_of_a_page_is_on_the_result(kind: str) -> None:
    shown, page = PAGES[kind]()
    drawn = {name.removeprefix("chart-") for name in Page(page.decode()).data["charts"]}
    assert drawn
    # the page of histories numbers those of several jobs
    assert set(shown.charts) == ({"history"} if kind == "history" else drawn)
    assert all(chart.rows() or chart.chart.table is None for chart in shown.charts.values())
