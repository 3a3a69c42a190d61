import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Run
from enginescope.render.page.page import report_page
from enginescope.render.validation.validate_answer import ReportedAnswers
from tests.render.validation.test_validate_answer import found, page_of, side, worst_of

pytestmark = pytest.mark.browser

DRAWN = "document.querySelectorAll('.vis svg').length"
PLACES = "document.querySelectorAll('.vis').length"
WIDE = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


def test_every_chart_is_drawn_and_the_sides_are_on_the_first_screen(tab, tmp_path) -> None:
    good, bad = side("fine · trt", 1e-4), side("broken · trt", 0.5)
    path = tmp_path / "validate.html"
    path.write_text(page_of(found(good, bad), [worst_of(bad)]), encoding="utf-8")
    tab.open(path)
    tab.draw_all()
    assert tab.evaluate(DRAWN) == tab.evaluate(PLACES) >= 5
    table = "document.querySelector('#summary table').getBoundingClientRect().bottom"
    assert tab.evaluate(table) <= 800
    assert tab.evaluate("[...document.images].every((one) => one.naturalWidth > 0)")
    assert tab.evaluate("document.querySelector('#side-2 details').open") is False
    assert tab.evaluate(WIDE)


def test_a_report_draws_the_answers_it_carries(tab, tmp_path) -> None:
    run = Run(
        id="abc",
        created="2026-01-01T00:00:00+00:00",
        origin="measured",
        job=Job(subject=Subject(name="net"), backend=BackendSpec(name="trt")),
    )
    answers = [ReportedAnswers(source="out", validation=found(side("x · trt", 0.5)))] * 2
    path = tmp_path / "report.html"
    path.write_bytes(report_page([RunView(run)], answers=answers))
    tab.open(path)
    tab.draw_all()
    inside = "document.querySelectorAll('#answers-{} .vis svg').length"
    assert tab.evaluate(inside.format(1)) == tab.evaluate(inside.format(2)) >= 2
    assert tab.evaluate(DRAWN) == tab.evaluate(PLACES)
    links = "[...document.querySelectorAll('nav a')].map((one) => one.hash)"
    assert {"#answers-1", "#answers-2"} <= set(tab.evaluate(links))
