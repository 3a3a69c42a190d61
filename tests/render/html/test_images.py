import struct
import zlib

import pytest

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.core import optional
from enginescope.core.errors import EnginescopeError, MissingDependencyError
from enginescope.render.base.palette import PICTURE_FONT
from enginescope.render.charts.distribution import latency_distribution
from enginescope.render.compare.compare_page import compare_slide
from enginescope.render.html import answer_page as module
from enginescope.render.html.answer_page import Slide, slide_png
from enginescope.render.html.images import Chart, png_bytes, recompressed, svg_text
from enginescope.render.page.report import subject_slide
from enginescope.render.plans.plan_headline import PageSubject
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.in_turn import in_turn, named
from tests.render.runs import EVIL, failed_run, imported_run, measured_run


def test_png_or_the_name_of_a_chart_whose_specification_is_refused() -> None:
    pytest.importorskip("vl_convert")
    assert png_bytes(latency_distribution(RunView(measured_run()))).startswith(b"\x89PNG\r\n")
    with pytest.raises(EnginescopeError, match="cannot draw broken"):
        png_bytes(Chart(key="broken", title="t", spec={"mark": {"type": "no such mark"}}))


def test_text_of_a_picture_keeps_the_width_it_was_measured_with() -> None:
    pytest.importorskip("vl_convert")
    chart = Chart(
        key="one",
        title="t",
        subtitle=("short", " ".join(["words"] * 50)),
        spec={
            "data": {"values": [{"a": 1}]},
            "mark": "bar",
            "encoding": {"x": {"field": "a", "type": "quantitative"}},
        },
    )
    text = svg_text(chart)
    assert f'font-family="{PICTURE_FONT}"' in text
    assert "system-ui" not in text
    lines = chart.complete(width=760)["title"]["subtitle"]
    assert lines[0] == "short"
    assert " ".join(lines[1:]) == chart.subtitle[1]
    assert all(len(one) <= 120 for one in lines)


def test_without_the_extra_it_says_what_to_install(monkeypatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr(optional.importlib, "import_module", absent)
    with pytest.raises(MissingDependencyError) as caught:
        png_bytes(latency_distribution(RunView(measured_run())))
    assert caught.value.hint == "pip install 'enginescope[plots]'"


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def test_pixels_and_other_chunks_stay() -> None:
    rows = (b"\0" + b"\7" * 90) * 40
    stored = zlib.compress(rows, 0)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 30, 40, 8, 2, 0, 0, 0))
    text, end = chunk(b"tEXt", b"a\0b"), chunk(b"IEND", b"")
    halves = chunk(b"IDAT", stored[:50]) + chunk(b"IDAT", stored[50:])
    small = recompressed(b"\x89PNG\r\n\x1a\n" + header + halves + text + end)
    packed = zlib.compress(rows, 8)
    assert small == b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", packed) + text + end
    assert len(packed) < len(stored) / 10


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
    assert struct.unpack(">II", slide_png(SLIDES[name])[16:24]) == (1600, 900)


def test_it_says_the_verdict_and_what_explains_it() -> None:
    plans, sides = SLIDES["two plans"], SLIDES["sides"]
    assert plans.answer.startswith("The layers of B take 28.7 % less time")
    assert plans.chart.key == "waterfall"
    assert sides.answer.startswith("B is slower: 1.05")
    assert sides.chart.key == "sides_hist"
    assert any("n 2,400" in text for text in sides.conditions)
    assert sides.lines == ("A side A: 1.983 ms · B side B: 2.082 ms",)


def test_words_stay_inside_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(module, "svg_png", lambda text, _: drawn.append(text) or b"")
    slide_png(SLIDES["words"])
    (svg,) = drawn
    assert "<script>" not in svg
    assert max(float(part.split('"')[0]) for part in svg.split(' y="')[1:]) < 900
