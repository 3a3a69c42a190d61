"""One picture of an answer for a slide."""

import struct

import pytest

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.render.compare.compare_page import compare_slide
from enginescope.render.html import answer_page as module
from enginescope.render.html.answer_page import Slide, slide_png
from enginescope.render.page.report import subject_slide
from enginescope.render.plans.plan_headline import PageSubject
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.in_turn import in_turn, named
from tests.render.runs import EVIL, failed_run, imported_run, measured_run

SLIDES = {
    "two plans": compare_slide(compare([run_a(), run_b()]), 3.0, None),
    "sides": compare_slide(None, 1.0, compare_sides(named(*in_turn(1.05)))),
    "run": subject_slide([PageSubject(RunView(measured_run()))]),
    "plan": subject_slide([PageSubject(RunView(imported_run()))]),
    "failed": subject_slide([PageSubject(RunView(failed_run()))]),
    "runs": subject_slide([PageSubject(RunView(measured_run())) for _ in range(2)]),
    "words": Slide(answer=f"{EVIL} & " + "long " * 90, lines=("a", "b", "c"), conditions=("d",)),
}


@pytest.mark.parametrize("name", SLIDES)
def test_a_slide_is_16_to_9(name: str) -> None:
    pytest.importorskip("vl_convert")
    png = slide_png(SLIDES[name])
    assert struct.unpack(">II", png[16:24]) == (1600, 900)


def test_it_says_the_verdict_and_what_explains_it() -> None:
    plans, sides = SLIDES["two plans"], SLIDES["sides"]
    assert plans.answer.startswith("The layers of B take 28.7 % less time")
    assert plans.chart.key == "waterfall"
    assert sides.answer.startswith("B is slower: 1.05")
    assert sides.chart.key == "sides_hist"
    assert any("n 2,400" in text for text in sides.conditions)
    assert sides.lines == ("A: side A · B: side B",)


def test_words_stay_inside_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(module, "svg_png", lambda text, _: drawn.append(text) or b"")
    slide_png(SLIDES["words"])
    (svg,) = drawn
    assert "<script>" not in svg
    assert max(float(part.split('"')[0]) for part in svg.split(' y="')[1:]) < 900
