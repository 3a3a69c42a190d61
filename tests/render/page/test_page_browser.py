import base64
import json
import re

import pytest

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.judge.notice import Notice
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.page.page import report_page
from enginescope.render.plan_comparison.compare_tables import Chosen
from tests.analysis.compared_plans import run_a, run_b
from tests.render.page.test_plan_page_browser import RESNET, open_page, page_of
from tests.render.runs import failed_run, imported_run, measured_run

pytestmark = pytest.mark.browser


def page_at(folder, *runs):
    path = folder / "report.html"
    path.write_bytes(report_page([RunView(run) for run in runs]))
    return path


def test_charts_are_drawn_without_a_request_or_a_complaint(tab, tmp_path) -> None:
    path = page_at(tmp_path, measured_run(), failed_run(), imported_run())
    tab.open(path)
    places = tab.evaluate("document.querySelectorAll('.vis').length")
    drawn = "document.querySelectorAll('.vis svg').length"
    assert places >= 10
    tab.draw_all()
    assert tab.evaluate(drawn) == places
    tab.evaluate("document.getElementById('theme').click()")
    tab.draw_all()
    assert tab.evaluate(drawn) == places
    assert tab.evaluate("document.documentElement.dataset.theme") in ("dark", "light")
    assert tab.requests() == [path.as_uri()]
    assert tab.complaints() == []


def test_charts_out_of_sight_wait_until_they_come_near_or_go_to_paper(tab, tmp_path) -> None:
    tab.open(page_at(tmp_path, measured_run(), failed_run(), imported_run()))
    places = "[...document.querySelectorAll('.vis')]"
    count = tab.evaluate(f"{places}.length")
    drawn = f"{places}.filter((one) => one.querySelector('svg')).length"
    assert tab.evaluate(f"{places}.at(-1).querySelector('svg') === null")
    assert tab.evaluate(drawn) < count
    tab.evaluate(f"pageReveal({places}.at(-1))")
    tab.evaluate(f"{places}.at(-1).scrollIntoView({{behavior: 'instant'}})")
    tab.until(f"{places}.at(-1).querySelector('svg') !== null")
    assert tab.evaluate(drawn) < count
    tab.send("Page.printToPDF")
    assert tab.evaluate(drawn) == count
    assert tab.complaints() == []


def test_first_screen_holds_the_headline_and_the_picture(tab, tmp_path) -> None:
    notices = tuple(Notice(code=f"W-{i}", message="one line of words " * 4) for i in range(4))
    samples = measured_run().samples[0]
    few = replace(samples, values_ms=samples.values_ms[:300], start_ms=None)
    tab.open(page_at(tmp_path, measured_run(notices=notices, samples=(few,))))
    assert tab.evaluate("document.querySelectorAll('.figure.weak').length") >= 1
    for what in (".headline", ".icicle canvas", ".where tbody tr"):
        box = f"document.querySelector('{what}').getBoundingClientRect()"
        assert tab.evaluate(f"{box}.bottom") <= 800
    tab.fits(1280, 800, 420)


def test_downloads_carry_the_files_the_command_is_copied_and_no_other_script_runs(
    tab, tmp_path
) -> None:
    run = measured_run()
    tab.open(page_at(tmp_path, run))
    links = "[...document.querySelectorAll('.downloads a')].map((a) => a.href.slice(0, 5))"
    assert tab.evaluate(links) == ["blob:"] * 6
    tab.evaluate(
        "Object.defineProperty(navigator, 'clipboard',"
        " { value: { writeText: async (text) => { window.copied = text; } } });"
        " document.querySelector('pre.command + .copy').click()"
    )
    assert tab.evaluate("copied") == run.command
    tab.until("document.querySelector('.copy').textContent === 'Copied'")
    assert tab.complaints() == []
    tab.evaluate(
        "const one = document.createElement('script'); one.textContent = 'window.evil = 1';"
        "document.body.append(one);"
    )
    assert tab.evaluate("window.evil === undefined") is True


MANY = 4_000
BEFORE, AFTER = (f"dispatchEvent(new Event('{one}'))" for one in ("beforeprint", "afterprint"))
ROWS = "document.querySelectorAll('#table-layers tbody tr:not(.spacer)').length"
CAPTION = "document.querySelector('#table-layers caption').textContent"


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
    printed = base64.b64decode(tab.send("Page.printToPDF")["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) < 60  # the rows out of sight were 150
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
