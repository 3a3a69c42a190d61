"""The first screen in a browser: the picture of time, one selection, one search, keys."""

import json
import random

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.formats.plan.plan_layer import layer_json
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.render.base.palette import family_color, type_family
from enginescope.render.base.short_names import shorten_apart
from enginescope.render.page.page import report_page
from enginescope.services.plans.resolve_plan import resolve_plan
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
    assert {url.partition("#")[0] for url in tab.requests()} == {page.as_uri()}


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


NAME = "/conv1/Conv + /relu/Relu"
HEADS = "[...document.querySelectorAll('#table-layers thead th')].map((one) => one.textContent)"
FACTS = (
    "Object.fromEntries([...document.querySelectorAll('[data-part=panel] dt')]"
    ".map((one) => [one.textContent, one.nextSibling.textContent]))"
)


def choose(tab) -> None:
    """Choose the layer `NAME` by a click on its row, with the graph drawn."""
    tab.evaluate("document.getElementById('graph').scrollIntoView()")
    tab.until("document.querySelector('.graph').dataset.state === 'ready'")
    tab.evaluate(
        f"[...document.querySelectorAll('#table-layers tbody td')]"
        f".find((one) => one.title === {json.dumps(NAME)}).click()"
    )


def test_columns_are_chosen_and_the_address_and_the_file_have_them(tab, page) -> None:
    before = tab.evaluate(HEADS)
    assert before == [
        *("Layer", "% of sum", "Time µs", "× floor", "Bound by"),
        *("Precision", "Tactic", "Findings", "Type"),
    ]
    labels = "[...document.querySelectorAll('#table-layers .column-list label')]"
    for title in ("Padding", "Time µs"):
        tab.evaluate(
            f"{labels}.find((one) => one.textContent.trim() === '{title}').firstChild.click()"
        )
    after = tab.evaluate(HEADS)
    assert set(after) == {*before, "Padding"} - {"Time µs"}
    tab.evaluate(
        "window.saved = []; URL.createObjectURL = (data) => { saved.push(data); return 'data:,'; };"
        " HTMLAnchorElement.prototype.click = () => {};"
        " [...document.querySelectorAll('#table-layers .tools button')]"
        ".find((one) => one.textContent === 'CSV').click()"
    )
    text = tab.evaluate("saved[0].text()", awaits=True)
    assert text.splitlines()[0].replace('"', "").split(",")[:2] == ["Layer", "% of sum"]
    assert ",Padding" in text.splitlines()[0]
    assert "Time µs" not in text.splitlines()[0]
    tab.visit(tab.evaluate("location.href"))
    tab.until("document.documentElement?.dataset.charts === 'drawn'")
    assert tab.evaluate(HEADS) == after
    assert tab.evaluate("document.querySelector('.tab.open #layers') !== null")
    tab.evaluate(
        "[...document.querySelectorAll('#table-layers .columns button')]"
        ".find((one) => one.textContent === 'Usual').click()"
    )
    assert tab.evaluate(HEADS) == before
    assert tab.evaluate("location.href") == f"{page.as_uri()}#layers"


def test_the_panel_has_every_attribute_and_the_fields_of_the_plan(tab) -> None:
    choose(tab)
    assert tab.evaluate("document.querySelector('[data-part=panel] h3').textContent") == NAME
    facts = tab.evaluate(FACTS)
    wanted = {
        "Kernel": "7×7",
        "Stride": "2×2",
        "Padding": "3×3",
        "Groups": "1",
        "Activation": "RELU",
        "Weights' type": "FP16",
        "Stream": "0",
        "MACs, millions": "118.014",
        "MAC/byte": "61.29",
    }
    assert {name: facts.get(name) for name in wanted} == wanted
    layer = next(one for one in resolve_plan(str(RESNET)).plan.layers if one.name == NAME)
    assert facts["Tactic"] == layer.tactic_name
    tab.evaluate(
        "Object.defineProperty(navigator, 'clipboard',"
        " { value: { writeText: async (text) => { window.copied = text; } } });"
        "window.box = [...document.querySelectorAll('[data-part=panel] details')].at(-1);"
        "box.open = true; box.querySelector('button').click()"
    )
    tab.until("window.copied && box.querySelector('pre').textContent !== 'reading …'")
    assert json.loads(tab.evaluate("copied")) == layer_json(layer)
    assert tab.evaluate("copied === box.querySelector('pre').textContent")


def test_tooltips_of_the_graph_have_time_precision_and_tactic(tab) -> None:
    choose(tab)
    tab.until("Math.abs(document.querySelector('.graph').view.camera.scale) > 0.6")
    tab.evaluate("document.querySelector('.graph-stage').scrollIntoView({ block: 'center' })")
    # The chosen layer flies to the middle of the view.
    x, y = tab.evaluate(
        "(async () => { await new Promise((done) => setTimeout(done, 400));"
        " const { x, y, width, height } ="
        " document.querySelector('[data-part=canvas]').getBoundingClientRect();"
        " return [x + width / 2, y + height / 2]; })()",
        awaits=True,
    )
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    text = tab.evaluate("document.querySelector('.tip').innerText")
    for wanted in (NAME, "Time", "Precision", "FP16", "Tactic", "sm80_xmma_fprop"):
        assert wanted in text


def test_tooltips_of_charts_have_every_attribute(tab) -> None:
    tab.evaluate("pageReveal(document.getElementById('memory'))")
    tab.evaluate("document.getElementById('chart-footprint-per-layer').scrollIntoView()")
    bar = "document.querySelector('#chart-footprint-per-layer .mark-rect.role-mark path')"
    tab.until(f"{bar} !== null")
    x, y = tab.evaluate(
        f"(() => {{ const b = {bar}.getBoundingClientRect();"
        " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    titles = tab.evaluate(
        "[...document.querySelectorAll('.tip dt')].map((one) => one.textContent.toLowerCase())"
    )
    assert {"kernel", "stride", "activation", "formats", "macs, millions"} <= set(titles)
    assert len(titles) == len(set(titles))


def test_the_page_shortens_names_as_python_does(tab) -> None:
    chance = random.Random(7)
    alphabet = ["/layer", "conv", ".1", ".2", "relu", "x" * 20, "…", " #2", "é", " + /layer"]
    lists = [
        ["".join(chance.choices(alphabet, k=chance.randrange(12))) for _ in range(30)]
        for _ in range(40)
    ]
    lists.append([layer.name for layer in resolve_plan(str(RESNET)).plan.layers])
    cut = 0
    for limit in (12, 28, 53):
        for names in lists:
            shown = tab.evaluate(
                f"(() => {{ const names = {json.dumps(names)}, short = pageShorten(names, {limit});"
                " return names.map((one) => short.get(one) ?? one); })()"
            )
            assert shown == shorten_apart(names, limit)
            cut += shown != names
    assert cut > 60
