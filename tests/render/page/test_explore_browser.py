"""The first screen in a browser: the picture of time, one selection, one search, keys."""

import json

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.render.base.palette import family_color, type_family
from enginescope.render.page.page import report_page
from tests.render.every_page import plan_page
from tests.render.page.test_plan_page_browser import RESNET
from tests.render.runs import measured_run

pytestmark = pytest.mark.browser

PANEL = "document.querySelector('.panel h3').textContent"
MARKED = "document.querySelector('#table-layers tr.marked')?.cells[0].title"
CANVAS = "document.querySelector('.icicle canvas')"
FOCUS = "document.querySelector('.icicle').dataset.focus"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "plan.html"
    path.write_bytes(plan_page(RESNET))
    return path


@pytest.fixture
def tab(tab, page):
    tab.open(page)
    yield tab
    assert tab.complaints() == []
    assert tab.requests() == [page.as_uri()]


def press(tab, key: str) -> None:
    """Press a key where the focus is; a browser without a window may drop its own events."""
    event = f"new KeyboardEvent('keydown', {{ key: {json.dumps(key)}, bubbles: true }})"
    tab.evaluate(f"void document.activeElement.dispatchEvent({event})")


def place(tab, across: float, row: int) -> tuple[float, float]:
    """Return a point of the picture: a part of its width, and a row from above or below."""
    left, top, width, height = tab.evaluate(
        f"(() => {{ const b = {CANVAS}.getBoundingClientRect();"
        " return [b.left, b.top, b.width, b.height]; })()"
    )
    y = top + 22 * row + 10 if row >= 0 else top + height + 22 * row + 10
    return left + across * width, y


def test_a_layer_of_the_picture_is_chosen_everywhere(tab) -> None:
    tab.until("document.querySelector('.graph').dataset.state === 'ready'")
    x, y = place(tab, 0.4, -2)
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    tip = tab.evaluate("document.querySelector('.tip').innerText")
    assert "µs" in tip
    tab.click(x, y)
    name = tab.evaluate(PANEL)
    assert name in tip
    assert tab.evaluate(MARKED) == name
    tab.until(f"document.querySelector('[data-part=panel] h3').textContent === {json.dumps(name)}")


#: Fills and strokes of the picture while it is drawn again.
DRAWN = """(() => {
  const drawn = { fills: [], strokes: [] }, pen = CanvasRenderingContext2D.prototype;
  const { fillRect, stroke } = pen;
  pen.fillRect = function (...box) {
    drawn.fills.push(this.fillStyle);
    fillRect.apply(this, box);
  };
  pen.stroke = function () {
    drawn.strokes.push([this.strokeStyle, this.lineWidth]);
    stroke.call(this);
  };
  document.dispatchEvent(new Event("theme"));
  Object.assign(pen, { fillRect, stroke });
  return drawn;
})()"""


def test_dots_of_findings_have_an_outline(tab) -> None:
    """Blue on orange could not be seen."""
    strokes = tab.evaluate(DRAWN)["strokes"]
    assert len(strokes) > 10
    assert ["#ffffff", 3] in strokes


def test_a_group_of_mixed_work_has_the_color_of_the_most_time(browser, tmp_path) -> None:
    """Where no kind of work had more than half of it, it was gray, as nothing in the legend is."""
    times = enumerate((("Conv", 0.5), ("Add", 0.25), ("MatMul", 0.25)))
    layers = [LayerTiming(index=at, name=kind, mean_ms=ms, kind=kind) for at, (kind, ms) in times]
    run = measured_run(profile=Profile(source="onnxruntime", layers=tuple(layers)))
    file = tmp_path / "run.html"
    file.write_bytes(report_page([RunView(run)]))
    browser.open(file)
    browser.until("!document.querySelector('.icicle').hidden")
    assert browser.evaluate(DRAWN)["fills"][0] == family_color(type_family("Conv")).lower()


@pytest.mark.parametrize("how", ["look", "table", "graph"])
def test_each_kind_of_mark_reaches_the_panel(tab, how) -> None:
    tab.until("document.querySelector('.graph').dataset.state === 'ready'")
    before = tab.evaluate(PANEL)
    acts = {
        "look": "document.querySelectorAll('.where tr[data-row]')[2].click()",
        "table": "document.querySelectorAll('#table-layers tbody tr[aria-rowindex]')[5].click()",
        "graph": "{ const { view } = document.querySelector('.graph');"
        " document.querySelector('.graph [data-part=unfold]').click();"
        " view.select(view.scene.boxOf[12]); }",
    }
    tab.evaluate(acts[how])
    name = tab.evaluate(PANEL)
    assert name != before
    assert tab.evaluate(MARKED) == name


def test_the_panel_names_onnx_nodes_and_neighbors_that_lead_on(tab) -> None:
    facts = "[...document.querySelectorAll('.panel dl > div')].map((one) => one.innerText)"
    tab.until(f"{facts}.some((one) => /ONNX nodes/.test(one) && /conv2.Conv/.test(one))")
    tab.until("document.querySelector('.panel li button') !== null")
    name = tab.evaluate("document.querySelector('.panel li button').title")
    tab.evaluate("document.querySelector('.panel li button').click()")
    assert tab.evaluate(PANEL) == name


def test_keys_and_clicks_walk_the_picture_and_zoom(tab) -> None:
    tab.evaluate(f"{CANVAS}.focus()")
    press(tab, "ArrowRight")
    first = tab.evaluate(PANEL)
    press(tab, "ArrowRight")
    assert tab.evaluate(PANEL) != first
    press(tab, "ArrowLeft")
    assert tab.evaluate(PANEL) == first
    press(tab, "Escape")
    assert tab.evaluate(FOCUS) == "0"
    tab.click(*place(tab, 0.5, 1))
    assert tab.evaluate(FOCUS) != "0"
    tab.click(*place(tab, 0.5, 0))
    assert tab.evaluate(FOCUS) == "0"


def test_times_switch_between_own_and_profiled(tab) -> None:
    if not tab.evaluate("document.querySelector('[data-times=raw]') !== null"):
        pytest.skip("this recording has one time a layer")
    own = tab.evaluate("document.querySelector('[data-part=title]').textContent")
    tab.evaluate("document.querySelector('[data-times=raw]').click()")
    assert tab.evaluate("document.querySelector('[data-part=title]').textContent") != own
    cell = "document.querySelector('.where tbody td.number')"
    assert tab.evaluate(f"getComputedStyle({cell}.querySelector('.own')).display") == "none"
    assert tab.evaluate(f"getComputedStyle({cell}.querySelector('.raw')).display") != "none"


def test_one_search_finds_layers_tactics_and_tensors(tab) -> None:
    tab.press("/")
    assert tab.evaluate("document.activeElement.id") == "find"
    tab.evaluate(
        "{ const field = document.getElementById('find'); field.value = 'conv1';"
        " field.dispatchEvent(new Event('input')); }"
    )
    tab.until("document.querySelectorAll('.hits button').length > 2")
    kinds = tab.evaluate("[...document.querySelectorAll('.hits h4')].map((one) => one.textContent)")
    assert {one.partition(":")[0] for one in kinds} >= {"Layers", "Tensors"}
    name = tab.evaluate("document.querySelector('.hits button span').textContent")
    press(tab, "Enter")
    assert tab.evaluate(PANEL) == name
    assert tab.evaluate("document.querySelector('.hits').hidden")


def test_a_question_mark_shows_the_keys_and_paper_every_tab(tab) -> None:
    press(tab, "?")
    assert tab.evaluate("document.querySelector('dialog.keys').open")
    press(tab, "?")
    assert tab.evaluate("document.querySelector('dialog.keys').open") is False
    shown = (
        "[...document.querySelectorAll('.tab')]"
        ".filter((one) => getComputedStyle(one).display !== 'none').length"
    )
    assert tab.evaluate(shown) == 1
    tab.draw_all()
    assert tab.evaluate(shown) == tab.evaluate("document.querySelectorAll('.tab').length")
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.evaluate(shown) == 1
