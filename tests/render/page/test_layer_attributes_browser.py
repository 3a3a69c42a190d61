"""Every attribute of a layer is one hover away: tooltips, the graph's panel, the table, its CSV."""

import json
import random

import pytest

from enginescope.formats.plan.plan_layer import layer_json
from enginescope.render.base.short_names import shorten_apart
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.conftest import DATA
from tests.render.every_page import plan_page

pytestmark = pytest.mark.browser

PLAN = DATA / "trt86-h200" / "resnet18.graph.json"
NAME = "/conv1/Conv + /relu/Relu"
HEADS = "[...document.querySelectorAll('#table-layers thead th')].map((one) => one.textContent)"
PANEL = (
    "Object.fromEntries([...document.querySelectorAll('[data-part=panel] dt')]"
    ".map((one) => [one.textContent, one.nextSibling.textContent]))"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "plan.html"
    path.write_bytes(plan_page(PLAN))
    return path


@pytest.fixture
def tab(tab, page):
    tab.open(page)
    yield tab
    assert tab.complaints() == []


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
    facts = tab.evaluate(PANEL)
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
    layer = next(one for one in resolve_plan(str(PLAN)).plan.layers if one.name == NAME)
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
    lists.append([layer.name for layer in resolve_plan(str(PLAN)).plan.layers])
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
