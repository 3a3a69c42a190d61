import base64
import json
import re

import pytest

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.plan_comparison.compare_tables import Chosen
from tests.analysis.compared_plans import run_a, run_b
from tests.render.page.test_plan_page_browser import RESNET, open_page, page_of
from tests.render.runs import imported_run

pytestmark = pytest.mark.browser

MANY = 4_000
BEFORE, AFTER = (f"dispatchEvent(new Event('{one}'))" for one in ("beforeprint", "afterprint"))
ROWS = "document.querySelectorAll('#table-layers tbody tr:not(.spacer)').length"
CAPTION = "document.querySelector('#table-layers caption').textContent"


def pages_of(tab) -> int:
    printed = base64.b64decode(tab.send("Page.printToPDF")["data"])
    return len(re.findall(rb"/Type\s*/Page\b", printed))


def long_page() -> bytes:
    layers = [
        {
            "Name": f"/layers.{i}/Conv",
            "LayerType": "CaskConvolution",
            "Inputs": [{"Name": f"t{i}", "Dimensions": [1, 8], "Format/Datatype": "Half"}],
            "Outputs": [{"Name": f"t{i + 1}", "Dimensions": [1, 8], "Format/Datatype": "Half"}],
        }
        for i in range(MANY)
    ]
    plan, _ = parse_plan(json.dumps({"Layers": layers, "Bindings": []}).encode(), "long.graph.json")
    return page_of(imported_run(plan=plan, profile=None, samples=(), tool=None))


def test_long_tables_end_after_a_few_pages_and_say_so(tab, tmp_path) -> None:
    open_page(tab, tmp_path, long_page())
    on_screen = tab.evaluate(ROWS)
    assert pages_of(tab) < 60  # the rows out of sight alone were 150
    tab.evaluate(BEFORE)
    assert tab.evaluate(ROWS) == 300
    assert tab.evaluate(CAPTION).endswith(f": 300 of {MANY:,}")
    tab.evaluate(AFTER)
    assert tab.evaluate(ROWS) == on_screen
    assert tab.evaluate(CAPTION).endswith("a heading sorts by its column")
    assert tab.complaints() == []


@pytest.mark.parametrize("is_seen", [False, True])
def test_the_whole_graph_is_on_one_sheet(tab, tmp_path, is_seen) -> None:
    open_page(tab, tmp_path, RESNET, "#layers")
    assert_whole_on_paper(tab, is_seen=is_seen, names=["/conv1/Conv"])


@pytest.mark.parametrize("is_seen", [False, True])
def test_both_graphs_of_a_comparison_are_on_one_sheet(tab, tmp_path, is_seen) -> None:
    open_page(tab, tmp_path, compare_page(compare((run_a(), run_b())), Chosen()))
    assert_whole_on_paper(tab, is_seen=is_seen, names=["conv1/x", "conv1/x"])


def assert_whole_on_paper(tab, *, is_seen: bool, names: list[str]) -> None:
    """The screen has the live graph, A4 the picture: all of it, on a sheet of its own height."""
    stills = "[...document.querySelectorAll('.graph-still')]"
    shown = f"{stills}.map((one) => getComputedStyle(one).display)"
    assert tab.evaluate(shown) == ["none"] * len(names)
    if is_seen:
        tab.evaluate("pageReveal(document.querySelector('.graph'))")
        tab.evaluate("document.querySelector('.graph').scrollIntoView({behavior: 'instant'})")
        tab.until("document.querySelector('.graph').dataset.state === 'ready'")
    tab.evaluate(BEFORE)
    tab.send("Emulation.setEmulatedMedia", media="print")
    wide, tall = (round(96 * mm / 25.4) for mm in (210 - 20, 297 - 20))
    tab.resize(wide, tall)
    assert tab.evaluate(shown) == ["block"] * len(names)
    live = "getComputedStyle(document.querySelector('.graph-live')).display"
    assert tab.evaluate(live) == "none"
    pictures = f"{stills}.map((one) => one.querySelector('div').shadowRoot.querySelector('svg'))"
    texts = tab.evaluate(f"{pictures}.map((one) => one.textContent)")
    assert all(name in text for name, text in zip(names, texts, strict=True))
    boxes = tab.evaluate(
        f"{pictures}.map((one) => one.getBoundingClientRect())"
        ".map(({ width, height }) => [width, height])"
    )
    assert all(100 < width <= wide for width, _ in boxes)
    assert sum(height for _, height in boxes) < tall
    assert tab.complaints() == []


def test_labels_of_charts_stay_where_they_are_on_paper(tab, tmp_path) -> None:
    """A picture's style sheet must not reach the charts."""
    open_page(tab, tmp_path, RESNET)
    anchors = (
        "(() => { const seen = new Set(); for (const one of document.querySelectorAll('.vis text'))"
        " seen.add(getComputedStyle(one).textAnchor); return [...seen].sort(); })()"
    )
    tab.draw_all()
    assert tab.evaluate(anchors) == ["end", "middle", "start"]
