"""Every kind of page at four widths: nothing cut or hidden, links land, axe finds nothing."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DATA, missing
from tests.render.browser import Tab
from tests.render.every_page import SERVED, addresses, plan_page, write_pages

pytestmark = pytest.mark.browser

WIDTHS = (1920, 1280, 800, 420)
FILES = ("plan", "report", "reports", "comparison", "three-sides", "suite")
#: What a page of some width shows wrong. A text that ends in "…" has to be whole in its title.
WRONG = r"""
(() => {
  const found = new Set(), wide = document.documentElement.clientWidth;
  const say = (what, one) => found.add(`${what}: ${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 60)}`);
  if (document.documentElement.scrollWidth > wide) found.add("the page scrolls sideways");
  for (const one of document.querySelectorAll("body *")) {
    if (!one.clientWidth || !one.textContent.trim() || one.closest("svg, .unseen, .graph-hidden, .skip")) continue;
    if (!one.checkVisibility({ visibilityProperty: true })) continue;
    const style = getComputedStyle(one), isWider = one.scrollWidth > one.clientWidth + 1;
    const cut = (overflow) => overflow === "hidden" || overflow === "clip";
    const isCut = (isWider && cut(style.overflowX))
      || (one.scrollHeight > one.clientHeight + 1 && cut(style.overflowY));
    if (isCut && !(style.textOverflow === "ellipsis" && one.title)) say("cut", one);
    const cue = style.backgroundImage.includes("gradient") && style.backgroundAttachment.includes("local");
    if (isWider && ["auto", "scroll"].includes(style.overflowX) && !cue) say("goes on without a cue", one);
    const { left, right } = one.getBoundingClientRect();
    const says = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (says && !one.closest(".scroll") && (left < -1 || right > wide + 1)) say("outside", one);
  }
  for (const place of document.querySelectorAll(".vis svg")) {
    const box = place.getBoundingClientRect();
    for (const one of place.querySelectorAll("text")) {
      const at = one.getBoundingClientRect();
      if (getComputedStyle(one).opacity !== "0" && at.width && (at.left < box.left - 3 || at.right > box.right + 3 || at.top < box.top - 3 || at.bottom > box.bottom + 3)) {
        found.add(`cut in ${place.closest("[id]").id}: ${one.textContent}`);
      }
    }
  }
  return [...found];
})()
"""  # noqa: E501
#: Each axis with labels that overlap, or that repeat; those that Vega leaves out are transparent.
LABELS = """
[...document.querySelectorAll(".vis .role-axis-label")].flatMap((axis) => {
  const isShown = (one) => one.textContent && one.getAttribute("opacity") !== "0";
  const labels = [...axis.querySelectorAll("text")].filter(isShown).map((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return { text: one.textContent, left, right, top: top + 1, bottom };
  });
  const isOn = (a, b) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const wrong = labels.flatMap((a, at) =>
    labels.slice(at + 1).filter((b) => isOn(a, b) || a.text === b.text).map((b) => [a.text, b.text])
  );
  return wrong.map((pair) => [axis.closest(".vis").id, ...pair]);
})
"""
#: Links of the index whose heading is not in the first 100 px, or in sight at the page's end; or
#: that the index does not mark as the current section.
MISSED = """
(async () => {
  const missed = [], still = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  for (const link of document.querySelectorAll(".index a")) {
    if (!link.checkVisibility()) continue;
    scrollTo(0, 0);
    link.click();
    for (let wait = 0, calm = 0; wait < 100 && calm < 3; wait++) {  // what is drawn late moves it, and it comes back
      await still();
      calm = document.documentElement.dataset.charts === "drawn" ? calm + 1 : 0;
    }
    const place = document.getElementById(link.hash.slice(1));
    const heading = place.matches("h1, h2, h3") ? place : place.querySelector("h1, h2, h3");
    const top = heading.getBoundingClientRect().top;
    const isLast = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    if (top < 0 || top > (isLast ? innerHeight : 100) || link.ariaCurrent !== "true") missed.push([link.hash, top]);
  }
  return missed;
})()
"""  # noqa: E501


@pytest.fixture
def tab(tab):
    tab.reduce_motion()
    return tab


#: The plans that the repository ships; one of them is the page "plan".
PLANS = {file.name: file for file in sorted(DATA.rglob("*.graph.json"))}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    files = {name: page.as_uri() for name, page in write_pages(folder).items()}
    for name, file in PLANS.items():
        (folder / f"{name}.html").write_bytes(plan_page(file))
        files[name] = (folder / f"{name}.html").as_uri()
    with addresses(folder / "store") as served:
        yield {**files, **served}


def set_width(tab: Tab, width: int) -> None:
    tab.resize(width)
    tab.until(f"innerWidth === {width}")


def visit(tab: Tab, address: str) -> None:
    tab.events.clear()
    tab.visit(address)
    tab.until(f"document.readyState === 'complete' && location.href === {json.dumps(address)}")
    until_drawn(tab)
    # What a layer reads and writes comes last, and makes its panel longer.
    tab.until("!document.querySelector('.where .panel:not([hidden]):not([data-whole])')")


def until_drawn(tab: Tab) -> None:
    tab.until(
        "!document.querySelector('.vis') || document.documentElement.dataset.charts === 'drawn'"
    )


def draw_all(tab: Tab) -> None:
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    until_drawn(tab)


def set_theme(tab: Tab, theme: str) -> None:
    tab.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    tab.evaluate("document.dispatchEvent(new Event('theme'))")
    draw_all(tab)


#: What the first screen of a page answers, each in a line of its own that begins with that word.
ANSWERS = {
    **dict.fromkeys(("plan", "report", "comparison", "/runs/run000"), "H1 Where Look Next"),
    "suite": "H1 Look Where Next",
    "/compare?run=run000&run=run001": "H1 A B Where Look Why Next",
    "/history?model=nightly.onnx": "H1 Where Look",
    "/gate/nightly": "H1 Baseline Where Why Next",
}
LINES = """
[...document.querySelectorAll("main h1, main .step, main .ended, main .warnings summary")].map((one) => {
  const line = one.cloneNode(true);
  for (const code of line.querySelectorAll("code")) code.remove();
  const name = one.tagName === "H1" ? "H1" : one.querySelector("strong")?.textContent;
  return [name, one.getBoundingClientRect().bottom, line.textContent.trim().split(/\\s+/).length];
})
"""  # noqa: E501


@pytest.mark.parametrize("size", [(1280, 800), (420, 860)])
def test_the_first_screen_answers_in_lines_that_are_read_in_ten_seconds(tab, pages, size) -> None:
    """Ten seconds are 40 words of an answer; command lines are there to be copied."""
    tab.resize(*size)
    for page, answers in ANSWERS.items():
        visit(tab, pages[page])
        words = {name: words for name, bottom, words in tab.evaluate(LINES) if bottom <= size[1]}
        assert (page, sorted({*answers.split()} - words.keys())) == (page, [])
        most = 40 if "suite" not in page else 60  # its reason is said three times
        assert (page, [name for name, count in words.items() if count > most]) == (page, [])


@pytest.mark.parametrize("name", [*FILES, *PLANS, *SERVED, "/login"])
def test_nothing_is_cut_or_hidden(tab, pages, name) -> None:
    set_width(tab, WIDTHS[0])
    visit(tab, pages[name])
    tab.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    for width, theme in zip(WIDTHS, ("dark", "light", "dark", "light"), strict=True):
        set_width(tab, width)
        set_theme(tab, theme)
        assert (width, tab.evaluate(WRONG)) == (width, [])
        alike = [one for one in tab.evaluate(LABELS) if "same/x" not in one]  # two layers' name
        assert (width, alike) == (width, [])
        if name in ("reports", *PLANS):
            assert tab.evaluate("document.querySelectorAll('.role-axis-label text').length") > 50
    told = [one for one in tab.complaints() if one.get("level") != "verbose"]
    assert [one for one in told if "404" not in str(one)] == []
    origin = "/".join(pages[name].split("/")[:3])
    assert [one for one in tab.requests() if not one.startswith(origin)] == []
    assert tab.evaluate("document.querySelector('h1, h2').textContent.length") > 0


def test_a_long_name_in_the_answer_of_a_section_wraps(tab, pages) -> None:
    set_width(tab, 420)
    visit(tab, pages["report"])
    tab.evaluate("pageReveal(document.getElementById('layers'))")
    answers = "document.querySelectorAll('.tab.open .answer')"
    tab.evaluate(f"for (const one of {answers}) one.textContent = 'kernel_'.repeat(12)")
    assert tab.evaluate(f"{answers}.length") > 0
    assert tab.evaluate(WRONG) == []


def test_the_server_s_bar_leaves_the_page_s_tables_as_they_are(tab, pages) -> None:
    """Both are styled in one page: the bar's line of state and live tables had one class."""
    set_width(tab, 800)
    visit(tab, pages["/suites/nightly"])
    indents = tab.evaluate(
        "[...document.querySelectorAll('.rows.live')].map((box) => box.querySelector('table')"
        ".getBoundingClientRect().left - box.getBoundingClientRect().left)"
    )
    assert indents
    assert all(indent <= 1 for indent in indents)


@pytest.mark.parametrize("width", WIDTHS)
def test_links_of_the_index_land(tab, pages, width) -> None:
    set_width(tab, width)
    for name in ("report", "reports", "comparison", "three-sides", "suite"):
        visit(tab, pages[name])
        assert (name, tab.evaluate(MISSED, awaits=True)) == (name, [])


def test_what_is_cut_is_seen(tab, pages) -> None:
    set_width(tab, 420)
    visit(tab, pages["report"])
    tab.evaluate(
        "document.querySelector('h1').style = 'width: 90px; overflow: hidden; white-space: nowrap';"
        "document.querySelector('main p').style = 'width: 900px; white-space: nowrap';"
        "for (const one of document.querySelectorAll('.scroll')) one.style.background = 'none'"
    )
    assert {one.partition(":")[0] for one in tab.evaluate(WRONG)} == {
        *("cut", "outside", "goes on without a cue", "the page scrolls sideways")
    }


def test_charts_follow_the_window(tab, pages) -> None:
    for name in ("comparison", next(one for one in SERVED if one.startswith("/compare"))):
        set_width(tab, 1920)
        visit(tab, pages[name])
        draw_all(tab)
        for width in (1280, 800):
            set_width(tab, width)
            tab.until("document.documentElement.scrollWidth <= innerWidth")


AXE = Path(__file__).parents[2] / "axe"
FINDINGS = """
(async () => {
  const found = await axe.run(document, { resultTypes: ["violations"], selectors: false });
  const serious = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  const said = (one, node) => `${one.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`;
  return serious.flatMap((one) => one.nodes.slice(0, 6).map((node) => said(one, node)));
})()
"""
COLORS = FINDINGS.replace("{ resultTypes", "{ runOnly: ['color-contrast'], resultTypes")


@pytest.fixture(scope="session")
def axe(tmp_path_factory) -> str:
    """Return axe-core as `tests/axe` locks it."""
    npm = shutil.which("npm")
    if npm is None:
        missing("npm is not installed")
    assert npm is not None
    folder = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(AXE / name, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    if ended.returncode != 0:
        missing(f"npm cannot install axe-core: {ended.stderr[-200:]}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def findings(tab, theme: str, asked: str = FINDINGS) -> list[str]:
    set_theme(tab, theme)
    return tab.evaluate(asked, awaits=True)


@pytest.mark.parametrize(
    "name", [*PLANS, *(one for one in FILES if one not in ("plan", "report")), *SERVED, "/login"]
)
def test_axe_finds_nothing_serious(tab, axe, pages, name) -> None:
    visit(tab, pages[name])
    tab.evaluate(
        "for (const one of document.querySelectorAll('details')) one.open = true;"
        "for (const one of document.querySelectorAll('.graph')) one.scrollIntoView()"
    )
    tab.until(
        "[...document.querySelectorAll('.graph[data-state]')]"
        ".every((one) => one.dataset.state === 'ready')"
    )
    tab.evaluate("globalThis.pageSelect?.('table-layers', null, 0)")
    tab.evaluate(axe)
    assert findings(tab, "light") == []
    # but for colors, both themes are one page
    assert findings(tab, "dark", COLORS) == []


def test_axe_sees_what_is_wrong(tab, axe, pages) -> None:
    visit(tab, pages["reports"])
    tab.evaluate(
        "document.querySelector('main').append(document.createElement('select'));"
        "document.querySelector('main p').style = 'color: #777; background: #666'"
    )
    tab.evaluate(axe)
    assert any(one.startswith("select-name") for one in tab.evaluate(FINDINGS, awaits=True))
    colors = tab.evaluate(COLORS, awaits=True)
    assert {one.partition(":")[0] for one in colors} == {"color-contrast"}
