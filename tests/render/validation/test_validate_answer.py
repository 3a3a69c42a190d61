import html
import io
import json
import re
from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image

from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.bisection.error_growth import Bisected
from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.validation.validation import ValidatedSide, Validation
from enginescope.core.record import replace
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Run
from enginescope.render.accuracy.compared_outputs import WorstAnswer, panels_of
from enginescope.render.base.text import answer_lines, as_text
from enginescope.render.html.answer_page import written_page
from enginescope.render.html.images import heat_png
from enginescope.render.page.page import report_page
from enginescope.render.validation.validate_answer import (
    ReportedAnswers,
    output_diff_json,
    per_sample_json,
    validate_answer,
)
from tests.analysis.answers import tensor
from tests.depth_benchmarks import depth_benchmark

GENERATOR = np.random.default_rng(0)
DEPTH = GENERATOR.standard_normal((3, 1, 1, 32, 48)).astype(np.float32)
SCORES = GENERATOR.standard_normal((3, 1, 20)).astype(np.float32)


def side(label: str, part: float) -> ValidatedSide:
    comparison = SideComparison(label, lambda _: tolerance_named("fp16"))
    for at in range(3):
        noise = part * GENERATOR.standard_normal(DEPTH[at].shape).astype(np.float32)
        reference = [tensor(DEPTH[at], "<depth>"), tensor(SCORES[at], "scores")]
        comparison.add(
            at, f"img{at}", reference, [tensor(DEPTH[at] + noise, "<depth>"), reference[1]]
        )
    why = "net.onnx holds fp16"
    return ValidatedSide(label=label, tolerance="fp16", tolerance_why=why, diff=comparison.result())


def found(*sides: ValidatedSide) -> Validation:
    return Validation(
        reference="net.onnx · ort-cpu",
        reference_note="computed in fp32",
        samples=("img0", "img1", "img2"),
        inputs=("image",),
        outputs=("<depth>", "scores"),
        sides=sides,
        command="enginescope validate net.onnx",
        created="2026-01-01T00:00:00+00:00",
    )


def worst_of(one: ValidatedSide) -> WorstAnswer:
    at = one.diff.worst.sample
    return WorstAnswer(
        side=one.label,
        sample=at,
        name=f"img{at}",
        reference=tensor(DEPTH[at], "<depth>"),
        candidate=tensor(DEPTH[at] + np.float32(0.1), "<depth>"),
    )


def page_of(compared: Validation, worst: Sequence[WorstAnswer] = ()) -> str:
    return written_page(validate_answer(compared, worst)).decode()


def screen_of(compared: Validation, width: int) -> str:
    lines = answer_lines(validate_answer(compared), width)
    return "".join(as_text(line, width=width) for line in lines)


def test_the_page_answers_first_and_escapes_names() -> None:
    good, bad = side("fine · trt", 1e-4), side("broken · trt", 0.5)
    page = page_of(found(good, bad), [worst_of(bad)])
    assert "1 of 2 sides do not pass" in page
    assert page.index("1 of 2 sides") < page.index("fine · trt passes")
    assert "broken · trt fails: output &lt;depth&gt; (error 5" in page
    assert "<depth>" not in page
    assert "Every limit that does not hold" in page
    assert page.index("farthest from the reference") < page.index("fine · trt passes")
    assert "2026-01-01 00:00:00 UTC" in page
    assert page.count("data:image/png;base64,") == 3
    assert "rel. error &gt; 1 %, %" in page  # what --percent counts is no limit
    assert "Beyond limit" not in page
    for key in ("side-2-values", "side-2-samples", "side-2-o0-errors"):
        assert f'id="chart-{key}"' in page


def test_a_side_that_could_not_answer_has_words() -> None:
    assert "<h1>fine · trt passes" in page_of(found(side("fine · trt", 1e-4)))
    lost = ValidatedSide(label="x", tolerance="fp32", tolerance_why="", failure="died of SIGSEGV")
    page = page_of(found(lost))
    assert "died of SIGSEGV" in page
    assert "x could not run" in page


def test_the_reason_of_a_failure_is_the_first_line_below_the_answer() -> None:
    """It stood in the second section, in the row of a cross."""
    compared = found(side("b", 0.5))
    answered = validate_answer(compared)
    name, text = answered.facts[0]
    assert (name, text.partition(" ")[0]) == ("why", "<depth>:")
    assert text not in [one for _, one in answered.parts[0].facts]
    assert '<h1 class="bad">b fails' in page_of(compared)
    two = found(side("a", 1e-4), side("b", 0.5))
    assert "why" not in dict(validate_answer(two).facts)
    assert "RMSE is" in dict(validate_answer(two).parts[1].facts)["fails"]
    assert '<dt class="bad">fails</dt>' in page_of(two)
    assert 'class="bad"' not in page_of(found(side("b", 1e-4)))


def test_what_fails_and_was_not_bisected_has_a_next_step() -> None:
    step = ("next", "find where the error starts: enginescope validate net.onnx --bisect")
    failed = found(side("b", 0.5))
    assert step in validate_answer(failed).facts
    of_python = validate_answer(replace(failed, command=None))
    assert dict(of_python.facts)["next"].endswith(": enginescope validate … --bisect")
    again = replace(failed, command="enginescope validate net.onnx --bisect")
    assert "next" not in dict(validate_answer(again).facts)
    assert step not in validate_answer(found(side("b", 1e-4))).facts
    located = Bisected(side="b", reference="a", tolerance="fp16", limit=None, peak_limit=None)
    assert step not in validate_answer(found(replace(side("b", 0.5), inside=located))).facts


def test_errors_have_pictures_and_maps_a_scale() -> None:
    (part,) = validate_answer(found(side("b", 1e-4))).parts
    charts = [chart.key for chart in part.charts]
    assert "side-1-o0-errors" in charts
    assert not any(key.startswith("side-1-o1") for key in charts)  # scores are equal
    panels = panels_of(worst_of(side("b", 0.5)))
    assert panels.panels[0].range_text == panels.panels[1].range_text
    assert panels.panels[2].range_text == "0 … 0.1"
    vector = tensor(SCORES[0], "scores")
    flat = WorstAnswer(side="b", sample=0, name="s", reference=vector, candidate=vector)
    assert panels_of(flat) is None


def test_json_holds_every_figure_and_no_nan() -> None:
    whole = json.loads(output_diff_json(found(side("b", 0.5))), parse_constant=pytest.fail)
    (one,) = whole["sides"]
    depth, scores = one["outputs"]
    assert depth["passes"] is False
    assert {"max_abs_error", "mean_abs_error", "rmse", "cosine", "snr_db", "psnr_db"} <= set(depth)
    assert scores["top1_agreement_pct"] == 100
    assert len(depth["error_histogram"]) == len(whole["error_histogram_edges"]) + 1
    assert len(depth["ulp_histogram"]) == len(whole["ulp_histogram_edges"]) + 1
    each = json.loads(per_sample_json(found(side("b", 0.5))), parse_constant=pytest.fail)
    assert len(each["sides"][0]["samples"]) == 6


def test_an_error_is_shown_beside_its_limit_also_where_it_passes() -> None:
    for part, passes in ((1e-4, True), (0.5, False)):
        (one,) = json.loads(output_diff_json(found(side("b", part))))["sides"]
        depth = one["outputs"][0]
        limit = depth["error_to_spread_limit"]
        assert depth["passes"] is passes
        assert (depth["error_to_spread"] <= limit) is passes
        screen = screen_of(found(side("b", part)), 80)
        assert "err ÷ spread  limit" in screen
        assert f"{limit:.3g}" in screen


def test_the_screen_keeps_to_its_width() -> None:
    compared = found(side("fine", 1e-4), side("broken", 0.5))
    for width in (60, 80, 120):
        assert max(map(len, screen_of(compared, width).splitlines())) <= width


LONG = "tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT&builder_optimization_level=2"
TUNED = (f"net.onnx · trt?{LONG}", f"net.onnx · trt:fp16?{LONG}")


@pytest.mark.parametrize("width", [60, 80])
def test_options_that_sides_share_are_said_once_on_the_screen(width) -> None:
    lines = screen_of(found(*(side(one, 1e-4) for one in TUNED)), width).splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    assert text.count("tactic_sources") == 1
    assert "sides options of all: tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT &" in text
    assert "net.onnx · trt:fp16 passes" in text


def test_the_page_says_them_once_and_files_have_the_whole() -> None:
    compared = found(*(side(one, 1e-4) for one in TUNED))
    page = html.unescape(page_of(compared))
    assert "<dd>options of all: tactic_sources=-CUDNN," in page
    assert "<h2>net.onnx · trt:fp16 passes" in page
    assert '<a href="#side-2">net.onnx · trt:fp16</a>' in page
    (table,) = re.findall(r"<table.*?</table>", page[: page.index("<h2>")], re.DOTALL)
    assert "net.onnx · trt:fp16<" in table
    assert "tactic_sources" not in table
    assert [one["side"] for one in json.loads(output_diff_json(compared))["sides"]] == list(TUNED)


def test_a_task_s_table_has_the_same_names() -> None:
    sides = (side(one, 1e-4) for one in TUNED)
    compared = replace(found(*sides), task=depth_benchmark(TUNED).quality)
    text = screen_of(compared, 80)
    assert text.count("tactic_sources") == 1
    assert text.count("net.onnx · trt:fp16 ") >= 2
    page = html.unescape(page_of(compared))
    assert "tactic_sources" not in page[page.index('id="task"') : page.index('id="side-1"')]


def test_a_map_is_a_sound_png_from_dark_to_light() -> None:
    png = heat_png(np.array([[0.0, 1.0], [np.nan, 2.0]]), 0.0, 2.0)
    pixels = np.asarray(Image.open(io.BytesIO(png)))
    assert pixels.shape == (2, 2, 3)
    assert pixels[0, 0].tolist() == [68, 1, 84]
    assert pixels[1, 0].tolist() == [128, 128, 128]
    assert pixels[1, 1].tolist() == [253, 231, 37]
    assert heat_png(np.zeros((2, 2)), 0.0, 0.0)


DRAWN = "document.querySelectorAll('.vis svg').length"
PLACES = "document.querySelectorAll('.vis').length"
WIDE = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.mark.browser
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


@pytest.mark.browser
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
