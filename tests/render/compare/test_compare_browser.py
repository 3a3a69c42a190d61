"""The page of a comparison, and its two graphs beside each other, in a real browser."""

from pathlib import Path

import pytest

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.records.run.run import Run
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.analysis.compared_plans import EVIL, Network, network_a, run_a, run_b
from tests.render.browser import Tab
from tests.render.compare.test_compare_page import evil_run

pytestmark = pytest.mark.browser

ROWS = "[...document.querySelectorAll('#table-pairs tr[aria-rowindex]')]"
SHOWN = f"{ROWS}.map((one) => one.cells[0].textContent)"
OUTPUT = "document.querySelector('#table-pairs output').textContent"
PAIR = "document.getElementById('graph').view"
AT = "document.querySelector('[data-part=at]').textContent"
NOW = "document.querySelector('[data-part=now]').textContent"
ROW = "document.querySelector('#table-pairs tr.marked td')?.textContent"
#: Names of the chosen layers, A's and B's.
CHOSEN = f"""{PAIR}.views.map(({{ state, plan }}) => (
  state.selected === null || state.selected < 0 ? null : plan.name(state.selected)))"""
#: Heights of the chosen layers in their windows.
LEVELS = f"""{PAIR}.views.map((view) => (
  view.scene.boxes[4 * view.selectedBox() + 1] - view.camera.y) * view.camera.scale)"""
SCALES = "[...document.querySelectorAll('.pair-side')].map((side) => side.dataset.scale)"


def page_at(folder, *runs, **chosen) -> Path:
    """Write a page of these runs, else of two small plans."""
    path = folder / "compare.html"
    runs = runs or (run_a(), run_b())
    path.write_bytes(compare_page(compare(runs), Chosen(**chosen)))
    return path


def opened(tab: Tab, path: Path, hash_: str = "") -> None:
    tab.reduce_motion()
    tab.open(path, hash_)
    tab.evaluate("document.getElementById('layers').scrollIntoView({behavior: 'instant'})")
    tab.until("document.getElementById('graph').dataset.state === 'ready'")


def pick(tab, column: str, text: str) -> None:
    tab.evaluate(f"""{{
      const of = (tag) => [...document.querySelectorAll('#table-pairs .tools ' + tag)];
      const label = of('label').find((one) => one.textContent.startsWith('{column} '));
      const select = label.querySelector('select');
      select.value = [...select.options].find((one) => one.text.startsWith('{text}')).value;
      select.dispatchEvent(new Event('change'));
    }}""")


def test_the_list_filters_and_shows_one_pair_side_by_side(tab, tmp_path) -> None:
    path = page_at(tmp_path, run_a(), evil_run())
    tab.open(path)
    places = tab.evaluate("document.querySelectorAll('.vis').length")
    tab.draw_all()
    assert tab.evaluate("document.querySelectorAll('.vis svg').length") == places == 1
    picture = "document.querySelector('#summary .vis svg').getBoundingClientRect().bottom"
    assert tab.evaluate(picture) <= 800
    # changes first, what does not differ folded
    assert tab.evaluate(OUTPUT) == "6 of 8 pairs"
    assert tab.evaluate(SHOWN)[0] == "conv1/x"
    tab.evaluate("document.querySelector('#table-pairs .tools > label > [type=checkbox]').click()")
    assert tab.evaluate(OUTPUT) == "8 pairs"
    # by type, and by reason
    pick(tab, "Type", "Reformat")
    assert tab.evaluate(SHOWN) == ["in/reformat", "conv1/out reformat"]
    pick(tab, "Type", "all")
    pick(tab, "Reason", "cause unknown: only times differ")
    assert tab.evaluate(SHOWN) == ["same/x", "same/x", "still/x"]
    pick(tab, "Reason", "all")
    tab.evaluate(
        "{ const box = document.querySelector('#pairs input[type=search]'); box.value = 'HEAD';"
        "box.dispatchEvent(new Event('input')); }"
    )
    assert tab.evaluate(SHOWN) == ["head/x"]
    # both sides of the pair, marked where they differ
    detail = "document.querySelector('.pair-detail')"
    assert tab.evaluate(f"{detail}.querySelector('h3').textContent") == "head/x"
    differing = f"[...{detail}.querySelectorAll('tr.differs th')].map((one) => one.textContent)"
    assert tab.evaluate(differing) == ["time", "tactic"]
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth") is True
    assert tab.requests() == [path.as_uri()]
    assert tab.complaints() == []


def test_a_row_can_be_chosen_and_a_name_that_is_a_script_is_text(tab, tmp_path) -> None:
    scripts = "document.querySelectorAll('script').length"
    tab.open(page_at(tmp_path))
    usual = tab.evaluate(scripts)
    # a row that is clicked is chosen
    tab.evaluate(f"{ROWS}[2].cells[0].click()")
    assert tab.evaluate(f"{ROWS}.map((one) => one.className).indexOf('marked')") == 2
    assert tab.evaluate("location.hash") == "#layers?pair=2"
    tab.open(page_at(tmp_path, run_a(), evil_run(), only="precision"))
    assert tab.evaluate(OUTPUT) == "1 of 8 pairs"  # as --only asked
    assert EVIL in tab.evaluate("document.querySelector('#table-pairs tr.marked').textContent")
    assert EVIL in tab.evaluate("document.querySelector('.pair-detail').textContent")
    assert tab.evaluate(scripts) == usual
    assert tab.complaints() == []


def test_long_lists_keep_few_rows_and_walk_by_keys(tab, tmp_path) -> None:
    tab.open(page_at(tmp_path, chain(600, 1.0), chain(600, 1.25)))
    assert tab.evaluate(f"{ROWS}.length") < 80
    chosen = "document.querySelector('#table-pairs tr.marked').cells[0].textContent"
    key = "dispatchEvent(new KeyboardEvent('keydown', {key: '%s'}))"
    tab.evaluate(key % "n")
    second = tab.evaluate(chosen)
    assert tab.evaluate("document.querySelector('.pair-detail h3').textContent") == second
    # from the first to the last, which is brought into sight
    tab.evaluate(key % "p")
    tab.evaluate(key % "p")
    assert tab.evaluate(f"{ROWS}.at(-1).cells[0].textContent") == tab.evaluate(chosen) != second
    assert tab.evaluate(f"{ROWS}.length") < 80
    assert tab.complaints() == []


def test_small_screens_and_both_themes(tab, tmp_path) -> None:
    tab.open(page_at(tmp_path, run_a(), evil_run(), network_a(1).run("third")))
    for width in (1280, 800, 420):
        tab.fits(width)
        # six lines of links stood above the answer of a phone
        tab.until(f"document.querySelector('.index details').open === {str(width > 980).lower()}")
        assert tab.evaluate("document.querySelector('.index a').checkVisibility()") is (width > 980)
    tab.evaluate("document.getElementById('theme').click()")
    tab.until("document.documentElement.dataset.charts === 'drawn'")
    assert tab.complaints() == []


def place_of(tab: Tab, side: int, name: str) -> tuple[float, float]:
    """Where a layer lies on the screen."""
    x, y = tab.evaluate(f"""(() => {{
      const view = {PAIR}.views[{side}], area = view.canvas.getBoundingClientRect();
      const kinds = Array.from(view.plan.nodes.kind);
      const node = kinds.findIndex((_, at) => view.plan.name(at) === '{name}');
      const at = 4 * view.scene.boxOf[node], {{ boxes }} = view.scene;
      const {{ x, y, scale }} = view.camera;
      return [area.left + area.width / 2 + (boxes[at] - x) * scale,
              area.top + area.height / 2 + (boxes[at + 1] - y) * scale];
    }})()""")
    return x, y


def area_of(tab: Tab, element: str, point: str) -> tuple[float, float]:
    x, y = tab.evaluate(
        f"(() => {{ const at = {element}.getBoundingClientRect(); return [{point}]; }})()"
    )
    return x, y


def chain(layers: int, ms: float) -> Run:
    made = Network()
    for at in range(layers):
        made.add(f"layer{at}/x", "Convolution", 1 + at, ms + at / 1e4)
    return made.run("chain")


def test_keys_walk_through_every_change_the_largest_first(tab, tmp_path) -> None:
    opened(tab, page_at(tmp_path))
    assert tab.evaluate(AT) == "1 of 6"
    assert tab.evaluate(CHOSEN) == ["conv1/x", "conv1/x"]
    walked = [tab.evaluate(ROW)]
    for _ in range(5):
        tab.press("n")
        walked.append(tab.evaluate(ROW))
        assert walked[-1] in tab.evaluate(CHOSEN)
    assert tab.evaluate(AT) == "6 of 6"
    columns = tab.evaluate("reportData.tables['table-pairs'].columns")
    (differences,) = (one for one in columns if one.get("key") == "difference_ms")
    shown = differences["values"][:6]
    assert shown == sorted(shown, key=lambda ms: -abs(ms))
    names = ["conv1/x", "in/reformat", "conv2/x + pool/x", "conv1/out reformat", "head/x", "same/x"]
    assert walked == names
    tab.press("n")
    assert tab.evaluate(AT) == "1 of 6"
    tab.press("p", "p")
    assert tab.evaluate(AT) == "5 of 6"
    assert tab.evaluate(NOW).startswith("+125 µs · head/x")
    assert tab.evaluate("location.hash") == "#layers?pair=4"
    assert tab.complaints() == []
    # keys that are typed into a field do not walk
    opened(tab, page_at(tmp_path))
    tab.evaluate("document.querySelector('#pairs input[type=search]').focus()")
    tab.press("n")
    assert tab.evaluate("document.querySelector('#pairs input[type=search]').value") == "n"
    assert tab.evaluate(AT) == "1 of 6"  # every name or type has an n
    assert tab.evaluate("location.hash") == "#layers?pair=0"


def test_a_click_chooses_the_counterpart_and_the_row(tab, tmp_path) -> None:
    opened(tab, page_at(tmp_path))
    tab.evaluate("document.querySelector('[data-part=fit]').click()")
    for side, name, pair in (
        (0, "head/x", ["head/x", "head/x"]),
        (1, "conv2/x + pool/x", ["conv2/x", "conv2/x + pool/x"]),
        (0, "in/reformat", ["in/reformat", None]),
    ):
        tab.click(*place_of(tab, side, name))
        assert tab.evaluate(CHOSEN) == pair
        assert tab.evaluate(ROW) == (name if None not in pair else "in/reformat")
    # both layers of a group are marked
    tab.click(*place_of(tab, 1, "conv2/x + pool/x"))
    assert tab.evaluate(f"{PAIR}.views.map((view) => view.marks.found?.size ?? 0)") == [2, 0]
    # what has no pair is chosen alone
    tab.click(*place_of(tab, 0, "image"))
    assert tab.evaluate(CHOSEN) == ["image", None]
    assert tab.evaluate("document.querySelector('.pair-detail').textContent") == ""
    assert tab.complaints() == []


def test_one_camera_moves_both(tab, tmp_path) -> None:
    path = page_at(tmp_path, chain(60, 1.0), chain(60, 1.25))
    for side in (0, 1):
        opened(tab, path)
        before = tab.evaluate(SCALES)
        assert before[0] == before[1]
        canvas = f"{PAIR}.views[{side}].canvas"
        tab.evaluate(f"{canvas}.focus({{preventScroll: true}})")
        tab.press("-", "-")
        tab.until(f"{SCALES}[0] !== '{before[0]}'")
        tab.until(f"{SCALES}[0] === {SCALES}[1]")
        old = tab.evaluate(f"{PAIR}.views.map((view) => view.camera.y)")
        x, y = area_of(tab, canvas, "at.left + 12, at.top + 200")
        mouse = {"x": x, "button": "left"}
        tab.send("Input.dispatchMouseEvent", type="mousePressed", y=y, buttons=1, **mouse)
        for step in range(1, 6):
            tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y - 30 * step, buttons=1)
        tab.send("Input.dispatchMouseEvent", type="mouseReleased", y=y - 150, **mouse)
        tab.until(f"{PAIR}.views.every((view, at) => view.camera.y > {old}[at] + 50)")
        # the plans are alike, so the same layer stays level
        level = [place_of(tab, one, "layer20/x")[1] for one in (0, 1)]
        assert level[0] == pytest.approx(level[1], abs=0.5)


def test_bars_of_the_waterfall_are_walked_by_the_same_keys(tab, tmp_path) -> None:
    opened(tab, page_at(tmp_path, run_a(), run_b(extra_ms=0.25)))
    tab.draw_all()
    through = "document.querySelector('[data-part=through]')"
    tab.evaluate(f"{through}.focus()")
    tab.press("r")  # as the list box answers to the first letter
    tab.evaluate(f"{through}.value = 'reasons'; {through}.dispatchEvent(new Event('change'))")
    steps = tab.evaluate("reportData.steps")
    dimmed = f"""{PAIR}.views.map(({{ scene, marks }}) =>
      scene.ids.filter((_, box) => marks.isDimmed(box)).length)"""
    chosen = "document.getElementById('chart-waterfall').vega.signal('chosen')"
    seen = []
    for text, _ in steps:
        assert tab.evaluate(NOW).split(" · ")[1] == text
        assert tab.evaluate(chosen) == text
        boxes = tab.evaluate(f"{PAIR}.views.map((view) => view.scene.count)")
        assert (tab.evaluate(dimmed) == boxes) is text.startswith("not assigned")
        seen += tab.evaluate("pairList.shown")
        tab.press("n")
    assert tab.evaluate(AT) == f"1 of {len(steps)}"
    # every pair belongs to one bar, and what belongs to no layer is a bar of that name
    assert sorted(seen) == list(range(tab.evaluate("reportData.tables['table-pairs'].length")))
    assert any(text.startswith("not assigned") for text, _ in steps)
    assert sum(ms for _, ms in steps) == pytest.approx(4.1875 + 0.25 - 5.875)
    # a click on a bar chooses it
    bar = "document.querySelectorAll('#chart-waterfall .mark-rect path')[1]"
    tab.evaluate(f"{bar}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    x, y = area_of(tab, bar, "at.left + at.width / 2, at.top + 4")
    tab.click(x, y)
    assert tab.evaluate(AT) == f"2 of {len(steps)}"
    assert tab.complaints() == []


def test_an_address_leads_to_its_pair_and_chosen_layers_lie_level(tab, tmp_path) -> None:
    opened(tab, page_at(tmp_path), "#layers?pair=4")
    assert tab.evaluate(AT) == "5 of 6"
    assert tab.evaluate(CHOSEN) == ["head/x", "head/x"]
    opened(tab, page_at(tmp_path))
    tab.press("n", "n", "n", "n")
    level = [place_of(tab, side, "head/x")[1] for side in (0, 1)]
    assert level[0] == pytest.approx(level[1], abs=0.5)
    tab.until("Number(document.getElementById('graph').dataset.links) > 0")


def test_five_thousand_layers_answer_at_once(tab, tmp_path) -> None:
    def blocks(gain: float) -> Run:
        made = Network()
        for at in range(5000):
            ms = 1 + gain * (1 + at * 7919 % 5000)
            made.add(f"/layers.{at // 10}/op{at % 10}", "Convolution", 8, ms)
        return made.run("long")

    opened(tab, page_at(tmp_path, blocks(0), blocks(-1e-4)))
    count = tab.evaluate("pairList.shown.length")
    assert count > 4000
    times = tab.evaluate(
        """(() => { const times = [];
          for (let at = 0; at < 20; at++) {
            const start = performance.now();
            dispatchEvent(new KeyboardEvent('keydown', {key: 'n'}));
            times.push(performance.now() - start);
          }
          return times; })()"""
    )
    assert tab.evaluate(AT) == f"21 of {count:,}"
    # ms a step, most of them new places in the graph; what other processes take is in the others
    assert sorted(times)[2] < 200, times
    assert tab.evaluate(CHOSEN)[0] == tab.evaluate(ROW)
    assert tab.complaints() == []


@pytest.mark.parametrize("width", [1920, 1280, 800, 420])
def test_nothing_is_wider_than_the_screen(tab, tmp_path, width) -> None:
    tab.resize(width)
    opened(tab, page_at(tmp_path))
    for theme, color in (("light", "#e3e6eb"), ("dark", "#2c323c")):
        tab.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        areas = tab.evaluate(
            "[...document.querySelectorAll('.pair-side .graph-canvas')]"
            ".map((one) => [one.clientWidth, one.clientHeight])"
        )
        assert all(wide >= 180 and high >= 200 for wide, high in areas)
        # the neutral color of a layer without a change follows the theme
        tab.until(f"{PAIR}.views[0].coloring.neutral === '{color}'")
        # words of the walk are not cut
        words = ".walk-now, .walk output, .pair-side h3, .graph-legend span"
        widths = "(one) => [one.scrollWidth, one.clientWidth]"
        rooms = tab.evaluate(f"[...document.querySelectorAll('{words}')].map({widths})")
        assert all(inside <= room + 1 or not room for inside, room in rooms)


@pytest.mark.parametrize("other", ["fp16", "qat-residual"])
def test_the_walk_visits_every_change_of_a_real_engine(tab, tmp_path, shared, other) -> None:
    folder = shared / "trex-examples"
    names = [f"resnet18-a100-{one}.engine.graph.json" for one in ("fp32", other)]
    opened(tab, page_at(tmp_path, *(resolve_plan(str(folder / name)).as_run() for name in names)))
    count = tab.evaluate("pairList.shown.length")
    assert count >= 24
    seen, levels = set(), []
    for _ in range(count):
        seen.add(tab.evaluate("pairList.row"))
        levels.append(tab.evaluate(LEVELS) if None not in tab.evaluate(CHOSEN) else [0.0, 0.0])
        tab.press("n")
    assert len(seen) == count
    assert all(a == pytest.approx(b, abs=0.5) for a, b in levels)
    assert tab.evaluate(AT) == f"1 of {count}"
