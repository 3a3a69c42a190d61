"""The interactive graph in a real browser."""

import json
import time
from functools import cache
from pathlib import Path

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.tensor import DataType, Tensor
from enginescope.render.page import page
from enginescope.render.page.page import report_page
from enginescope.render.sections.graph import graph
from tests.analysis.graph.test_fold import transformer
from tests.analysis.graph.test_plan_graph import made
from tests.formats.plans import profile
from tests.render.browser import Tab
from tests.render.runs import EVIL, imported_run

pytestmark = pytest.mark.browser

VIEW = "document.querySelector('.graph').view"
PIXELS = f"""(() => {{
  {VIEW}.paint();
  const {{ canvas }} = {VIEW}, copy = document.createElement("canvas"), seen = new Map();
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const pen = copy.getContext("2d", {{ willReadFrequently: true }});
  pen.drawImage(canvas, 0, 0);
  const {{ data }} = pen.getImageData(0, 0, canvas.width, canvas.height);
  let sum = 0;
  for (let at = 0; at < data.length; at += 4) {{
    const one = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
    seen.set(one, (seen.get(one) ?? 0) + 1);
    sum = (sum * 31 + one) % 4294967291;
  }}
  return [seen.size, sum];
}})()"""


@pytest.fixture
def tab(tab):
    tab.resize(1280, 900)
    return tab


@pytest.fixture(autouse=True)
def graph_alone(request, monkeypatch):
    """Leave out the sections with charts, but where the test is of the page as a whole."""
    if "whole_page" not in request.fixturenames:
        monkeypatch.setattr(
            page, "tabs_of", lambda subject: (page.Tab(title="Graph", sections=(graph(subject),)),)
        )


@pytest.fixture
def whole_page():
    """Ask for every section."""


def page_of(folder: Path, *plans: Plan) -> Path:
    """Write a page of these plans, else of one of 32 blocks."""
    path = folder / "report.html"
    path.write_bytes(report_of(*plans) if plans else folded_report())
    return path


@cache
def folded_report() -> bytes:
    return report_of(transformer(32))


def report_of(*plans: Plan) -> bytes:
    views = []
    for plan in plans:
        times = ((one.name, 0.01 * (1 + one.index % 7)) for one in plan.layers)
        views.append(RunView(imported_run(plan=plan, profile=profile(*times))))
    return report_page(views)


def opened(tab: Tab, path: Path, hash_: str = "") -> None:
    tab.open(path, hash_)
    tab.reduce_motion()
    tab.evaluate("pageReveal(document.querySelector('.graph'))")
    tab.evaluate(
        "document.querySelector('section[id$=graph]').scrollIntoView({behavior:'instant'})"
    )
    tab.until("document.querySelector('.graph').dataset.state === 'ready'")


def choose(tab: Tab, part: str, value: str, event: str = "change") -> None:
    place = f"{VIEW}.part('{part}')"
    tab.evaluate(f"{place}.value = '{value}'; {place}.dispatchEvent(new Event('{event}'))")


def settle(tab: Tab) -> None:
    """Wait until the page scrolls no more."""
    before = None
    while before != (now := tab.evaluate("scrollY")):
        before = now
        time.sleep(0.15)


def focus(tab: Tab) -> None:
    tab.evaluate(f"{VIEW}.canvas.focus()")


def title(tab: Tab) -> str:
    return tab.evaluate(f"{VIEW}.part('panel').querySelector('h3').textContent")


def place_of(tab: Tab, box: str) -> tuple[float, float]:
    """Where a box of the scene lies on the screen."""
    found = tab.evaluate(f"""(() => {{
      const view = {VIEW}, place = view.canvas.getBoundingClientRect(), at = 4 * ({box});
      const {{ boxes }} = view.scene, {{ x, y, scale }} = view.camera;
      return [place.left + place.width / 2 + (boxes[at] - x) * scale,
              place.top + place.height / 2 + (boxes[at + 1] - y) * scale];
    }})()""")
    return found[0], found[1]


def test_it_is_seen_leads_to_rows_and_asks_for_nothing(tab, tmp_path, whole_page) -> None:
    path = page_of(tmp_path, transformer(32))
    opened(tab, path)
    colors, picture = tab.evaluate(PIXELS)
    assert colors > 20
    assert tab.evaluate(f"{VIEW}.scene.count") == 5
    pictures = {picture}
    for mode in ("type", "precision", "findings"):
        choose(tab, "color", mode)
        pictures.add(tab.evaluate(PIXELS)[1])
        assert tab.evaluate(f"{VIEW}.part('legend').querySelectorAll('button').length") >= 1
    assert len(pictures) == 4
    tab.evaluate("document.getElementById('theme').click()")
    paper = "getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()"
    tab.until(f"{VIEW}.look.paper === {paper}")
    tab.until("document.documentElement.dataset.charts === 'drawn'")
    assert tab.evaluate(PIXELS)[1] not in pictures
    # a layer leads to its row
    tab.evaluate(f"{VIEW}.reveal({VIEW}.plan.search('layers.17/Gelu')[0])")
    tab.evaluate(f"{VIEW}.part('panel').querySelector('a[data-table]').click()")
    assert "/layers.17/Gelu" in tab.evaluate("document.querySelector('tr.marked').textContent")
    assert tab.requests() == [path.as_uri()]
    assert tab.complaints() == []


def test_search_opens_what_hides_a_layer(tab, tmp_path) -> None:
    opened(tab, page_of(tmp_path))
    focus(tab)
    tab.press("/")
    assert tab.evaluate("document.activeElement.dataset.part") == "search"
    tab.send("Input.insertText", text="LAYERS.17/Gelu")
    assert tab.evaluate(f"{VIEW}.part('said').textContent") == "1 found, Enter goes there"
    tab.press("Enter")
    assert title(tab) == "/layers.17/Gelu"
    assert tab.evaluate(f"{VIEW}.part('said').textContent") == "1 of 1 found"
    x, y = place_of(tab, f"{VIEW}.marks.selected")
    assert 0 < x < 1280
    assert 0 < y < 900
    tab.press("Escape")
    assert tab.evaluate(f"{VIEW}.state.words") == ""
    tab.press("/")
    tab.send("Input.insertText", text="no such layer")
    assert tab.evaluate(f"{VIEW}.part('said').textContent") == "nothing found"


def test_keys_walk_unfold_and_fold(tab, tmp_path) -> None:
    opened(tab, page_of(tmp_path))
    focus(tab)
    seen = []
    for _ in range(3):
        tab.press("ArrowDown")
        seen.append(title(tab))
    assert seen == ["x", "embed", "layers.0 … layers.31, 32 blocks"]
    assert "group of 160 layers" in tab.evaluate(f"{VIEW}.part('live').textContent")
    tab.press("Enter")
    assert tab.evaluate(f"{VIEW}.scene.count") == 4 + 32
    assert title(tab) == "layers.0"
    tab.press("ArrowDown", "Enter")
    assert tab.evaluate(f"{VIEW}.scene.count") == 4 + 31 + 5
    assert title(tab) == "/layers.1/Norm"
    tab.press("ArrowDown", "ArrowUp")
    assert title(tab) == "/layers.1/Norm"
    tab.press("Enter")
    assert title(tab) == "layers.1"
    scale = tab.evaluate(f"{VIEW}.camera.scale")
    tab.press("-")
    assert tab.evaluate(f"{VIEW}.camera.scale") < scale
    tab.press("0")
    tab.evaluate(PIXELS)
    assert tab.evaluate(f"{VIEW}.painter.drawn") == 4 + 32
    tab.press("Escape")
    assert tab.evaluate(f"{VIEW}.state.selected") is None
    assert tab.complaints() == []


def test_mouse_wheel_and_fingers(tab, tmp_path) -> None:
    opened(tab, page_of(tmp_path))
    x, y = place_of(tab, f"{VIEW}.scene.ids.findIndex((id) => id < 0)")
    scale = f"{VIEW}.camera.scale"
    before = tab.evaluate(scale)
    wheel = {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -100}
    tab.send("Input.dispatchMouseEvent", **wheel)
    assert tab.evaluate(scale) == before  # the page scrolls
    settle(tab)
    tab.evaluate(f"{VIEW}.canvas.scrollIntoView({{behavior:'instant', block: 'center'}})")
    settle(tab)
    x, y = place_of(tab, f"{VIEW}.scene.ids.findIndex((id) => id < 0)")
    tab.click(x, y)
    assert title(tab) == "layers.0 … layers.31, 32 blocks"
    tab.send("Input.dispatchMouseEvent", **{**wheel, "x": x, "y": y})
    tab.until(f"{scale} > {before}")
    before = tab.evaluate(scale)
    for spread, kind in ((20, "touchStart"), (40, "touchMove"), (60, "touchMove")):
        points = [{"x": x - spread, "y": y, "id": 0}, {"x": x + spread, "y": y, "id": 1}]
        tab.send("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    tab.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    assert tab.evaluate(scale) > before
    start = tab.evaluate(f"{VIEW}.camera.x")
    tab.send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left")
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=x + 50, y=y, button="left", buttons=1)
    tab.send("Input.dispatchMouseEvent", type="mouseReleased", x=x + 50, y=y, button="left")
    assert tab.evaluate(f"{VIEW}.camera.x") < start
    assert tab.complaints() == []


def test_names_are_text(tab, tmp_path) -> None:
    tensor = "<img/src=x/onerror=alert(1)>"
    path = page_of(tmp_path, made((EVIL, "x", tensor), ("b", tensor, "y"), io="x>y"))
    opened(tab, path)
    scripts = tab.evaluate("document.querySelectorAll('script').length")
    tab.evaluate(f"{VIEW}.reveal({VIEW}.plan.search('alert(1)')[0])")
    assert title(tab) == EVIL
    assert "<img/src=x" in tab.evaluate(f"{VIEW}.part('panel').textContent")
    assert tab.evaluate("document.querySelectorAll('.graph img').length") == 0
    assert tab.evaluate("document.querySelectorAll('script').length") == scripts
    assert tab.requests() == [path.as_uri()]
    assert tab.complaints() == []


def test_the_legend_and_what_is_around_dim_the_rest(tab, tmp_path) -> None:
    opened(tab, page_of(tmp_path, transformer(4)))
    dimmed = f"{VIEW}.scene.ids.filter((_, box) => {VIEW}.marks.isDimmed?.(box)).length"
    assert tab.evaluate(dimmed) == 0
    choose(tab, "color", "type")
    chip = f"{VIEW}.part('legend').querySelector('button')"
    tab.evaluate(f"{chip}.click()")
    assert tab.evaluate(f"{chip}.getAttribute('aria-pressed')") == "true"
    assert 0 < tab.evaluate(dimmed) < 24
    assert tab.evaluate(f"{VIEW}.part('said').textContent").endswith(" of 22 layers shown")
    tab.evaluate(f"{chip}.click()")
    assert tab.evaluate(dimmed) == 0
    choose(tab, "near", "1", "input")
    assert "choose a layer" in tab.evaluate(f"{VIEW}.part('said').textContent")
    tab.evaluate(f"{VIEW}.select(3)")  # attention of the first block: norm before, gemm after
    assert tab.evaluate(dimmed) == 24 - 3


def test_the_address_remembers_the_view(tab, tmp_path) -> None:
    path = page_of(tmp_path, transformer(32), transformer(40))
    opened(tab, path)
    tab.evaluate("document.querySelectorAll('.graph')[1].scrollIntoView({behavior:'instant'})")
    tab.until("document.querySelectorAll('.graph')[1].dataset.state === 'ready'")
    tab.evaluate(
        "var second = document.querySelectorAll('.graph')[1].view; second.refold('block');"
        "second.part('color').value = 'precision';"
        "second.part('color').dispatchEvent(new Event('change')); second.reveal(60)"
    )
    tab.until("location.hash.includes('on=60')")
    address = tab.evaluate("location.hash")
    assert address.startswith("#run-2-graph?fold=block&color=precision")
    name = tab.evaluate("second.part('panel').querySelector('h3').textContent")
    camera = tab.evaluate("second.camera")
    tab.visit(path.as_uri() + address)
    tab.until("document.querySelectorAll('.graph')[1]?.dataset.state === 'ready'")
    again = "document.querySelectorAll('.graph')[1].view"
    assert tab.evaluate(f"{again}.part('panel').querySelector('h3').textContent") == name
    assert tab.evaluate(f"[{again}.state.folding, {again}.coloring.mode]") == ["block", "precision"]
    assert tab.evaluate(f"{again}.camera.x") == pytest.approx(camera["x"], abs=1)
    assert tab.complaints() == []


@pytest.mark.parametrize("address", ["#graph?fold=x&open=9999.-4.a&on=1e9&at=1,2", "#graph?at=NaN"])
def test_an_address_that_means_nothing_does_no_harm(tab, tmp_path, address) -> None:
    opened(tab, page_of(tmp_path, transformer(4)), address)
    assert tab.evaluate(PIXELS)[0] > 10
    assert tab.complaints() == []


def test_a_loop_is_drawn_backwards(tab, tmp_path) -> None:
    loop = made(("a", "x s", "1"), ("b", "1", "s"), ("c", "s", "y"), io="x>y")
    opened(tab, page_of(tmp_path, loop))
    assert tab.evaluate(f"{VIEW}.scene.back.filter(Boolean).length") == 1
    words = tab.evaluate("document.querySelector('.graph-help').textContent")
    assert "an earlier iteration" in words


def test_names_only_and_untimed_plans(tab, tmp_path) -> None:
    layers = tuple(Layer(index=one, name=f"layer_{one}") for one in range(6))
    path = tmp_path / "bare.html"
    plan = Plan(name="bare", layers=layers, source_schema="names-only")
    path.write_bytes(report_page([RunView(imported_run(plan=plan, profile=None))]))
    opened(tab, path)
    values = tab.evaluate(f"[...{VIEW}.part('color').options].map((one) => one.value)")
    assert values == ["type", "precision", "findings"]
    assert "no profile" in tab.evaluate(f"{VIEW}.part('panel').textContent")
    assert tab.complaints() == []


def test_narrow_windows(tab, tmp_path) -> None:
    path = page_of(tmp_path)
    for width in (800, 420):
        tab.resize(width, scale=2)
        opened(tab, path)
        tab.until(f"document.documentElement.scrollWidth <= {width}")
        tab.until(f"{VIEW}.canvas.width === 2 * {VIEW}.canvas.clientWidth")
        assert tab.evaluate(PIXELS)[0] > 20


def test_without_javascript_there_is_a_picture(tab, tmp_path) -> None:
    path = page_of(tmp_path)
    tab.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.send("Page.navigate", url=path.as_uri())
        time.sleep(0.5)
        words = json.dumps(tab.send("DOM.getDocument", depth=-1, pierce=True))
    finally:
        tab.send("Emulation.setScriptExecutionDisabled", value=False)
    assert "The interactive graph needs JavaScript" in words
    assert "layers.0 \\u2026 layers.31" in words
    assert '"nodeName": "svg"' in words


def test_boxes_tell_what_they_are_and_share_one_scale_of_time(tab, tmp_path) -> None:
    opened(tab, page_of(tmp_path))
    tip = "document.querySelector('.tip')"
    tab.evaluate(f"{VIEW}.canvas.scrollIntoView({{behavior:'instant', block: 'center'}})")
    settle(tab)
    for box, words in (
        (1, ["embed", "Time", "µs"]),
        (2, ["layers.0 … layers.31", "Layers", "160"]),
    ):
        x, y = place_of(tab, str(box))
        tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        tab.until(f"!{tip}.hidden && {tip}.textContent.includes('{words[0]}')")
        assert all(one in tab.evaluate(f"{tip}.textContent") for one in words)
    assert tab.complaints() == []
    # Green rises all along viridis.
    greens = tab.evaluate(f"""(() => {{
      const {{ coloring, scene }} = {VIEW};
      return scene.ids.map((id, at) => [coloring.ms(id), coloring.of(at)]).filter(([ms]) => ms > 0)
        .sort((a, b) => a[0] - b[0]).map(([, color]) => parseInt(color.slice(3, 5), 16));
    }})()""")
    assert len(greens) == 3
    assert greens == sorted(greens)
    assert greens[0] < greens[-1]
    assert "s, logarithmic" in tab.evaluate(f"{VIEW}.part('legend').textContent")


def test_open_groups_grow_within_their_column(tab, tmp_path) -> None:
    opened(tab, page_of(tmp_path))
    tab.evaluate(f"{VIEW}.toggle(1)")
    overlaps = f"""(() => {{
      const {{ boxes, frames, count }} = {VIEW}.scene, found = [];
      const all = [];
      for (let at = 0; at < count; at++) all.push(Array.from(boxes.slice(4 * at, 4 * at + 4)));
      for (let a = 0; a < all.length; a++) for (let b = 0; b < a; b++) {{
        const [x, y, w, h] = all[a], [u, v, s, t] = all[b];
        const isBeside = Math.abs(x - u) >= (w + s) / 2 - 1 || Math.abs(y - v) >= (h + t) / 2 - 1;
        if (!isBeside) found.push([a, b]);
      }}
      return found;
    }})()"""
    before = tab.evaluate(f"[{VIEW}.scene.width, {VIEW}.scene.height]")
    assert 0.5 < before[0] / before[1] < 4  # 32 blocks in columns
    assert tab.evaluate(overlaps) == []
    tab.evaluate(f"{VIEW}.toggle(5)")
    assert tab.evaluate(overlaps) == []
    assert tab.evaluate(f"{VIEW}.scene.height") < 2.5 * before[1]
    assert tab.complaints() == []


@pytest.mark.slow
def test_fifty_thousand_layers(tab, tmp_path) -> None:
    plan = transformer(10_000)
    odd = replace(plan.layers[0], inputs=(Tensor(name="x", dtype=DataType.FP16),))
    opened(tab, page_of(tmp_path, replace(plan, layers=(odd, *plan.layers[1:]))))
    assert tab.evaluate(f"{VIEW}.scene.count") == 5
    tab.evaluate(f"{VIEW}.part('unfold').click()")
    assert tab.evaluate(f"{VIEW}.scene.count") == 50_004
    assert tab.evaluate(PIXELS)[0] > 20
    assert 0 < tab.evaluate(f"{VIEW}.painter.drawn") < 200  # only what is in sight
    before = tab.evaluate(f"{VIEW}.camera.scale")
    focus(tab)
    tab.press("+")
    assert tab.evaluate(f"{VIEW}.camera.scale") > before
    tab.press("0")
    assert tab.evaluate(PIXELS)[0] > 5
    assert tab.evaluate(f"{VIEW}.painter.drawn") == 50_004
    tab.evaluate(f"{VIEW}.reveal({VIEW}.plan.search('layers.9876/Gelu')[0])")
    assert title(tab) == "/layers.9876/Gelu"
    assert tab.complaints() == []


def test_real_plans_unfold(tab, tmp_path, shared) -> None:
    paths = sorted(shared.glob("*/*.graph.json"))
    plans = [parse_plan(path.read_bytes(), path.name)[0] for path in paths]
    tab.open(page_of(tmp_path, *plans))
    for at in range(len(plans)):
        graph = f"document.querySelectorAll('.graph')[{at}]"
        tab.evaluate(f"{graph}.scrollIntoView({{behavior:'instant'}})")
        tab.until(f"{graph}.dataset.state === 'ready'")
        known = tab.evaluate(f"Object.keys({graph}.view.plan.foldings)")
        for folding in {"module", "block"}.intersection(known):
            tab.evaluate(f"{graph}.view.refold('{folding}'); {graph}.view.all(true)")
            drawn, whole = tab.evaluate(f"[{graph}.view.scene.count, {graph}.view.plan.count]")
            assert drawn == whole
            assert tab.evaluate(f"{graph}.view.scene.points.every(Number.isFinite)") is True
    assert [one for one in tab.complaints() if "legend" not in str(one)] == []
