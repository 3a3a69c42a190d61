"""What axe finds in the pages, and labels of axes at every width."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DATA, missing
from tests.render.every_page import SERVED, addresses, plan_page, report, write_pages
from tests.render.page.test_widths_browser import LABELS, draw_all, visit

pytestmark = pytest.mark.browser

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


PLANS = {file.name: file for file in sorted(DATA.rglob("*.graph.json"))}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    made = {name: page.as_uri() for name, page in write_pages(folder).items()}
    for name, file in PLANS.items():
        (folder / f"{name}.html").write_bytes(plan_page(file))
        made[name] = (folder / f"{name}.html").as_uri()
    with addresses(folder / "store") as served:
        yield {**made, **served}


def findings(tab, theme: str, asked: str = FINDINGS) -> list[str]:
    tab.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    tab.evaluate("document.dispatchEvent(new Event('theme'))")
    draw_all(tab)
    return tab.evaluate(asked, awaits=True)


@pytest.mark.parametrize(
    "name", [*PLANS, "reports", "comparison", "three-sides", "suite", *SERVED, "/login"]
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


def test_axe_sees_what_is_wrong(tab, axe, tmp_path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(report())
    tab.open(path)
    tab.evaluate(
        "document.querySelector('main').append(document.createElement('select'));"
        "document.querySelector('main p').style = 'color: #777; background: #666'"
    )
    tab.evaluate(axe)
    assert any(one.startswith("select-name") for one in tab.evaluate(FINDINGS, awaits=True))
    colors = tab.evaluate(COLORS, awaits=True)
    assert {one.partition(":")[0] for one in colors} == {"color-contrast"}


pytestmark = pytest.mark.browser

PAGES = {"report": report, **{one.name: one for one in sorted(DATA.rglob("*.graph.json"))}}


@pytest.mark.parametrize("width", [1920, 1280, 800, 420])
@pytest.mark.parametrize("name", PAGES)
def test_labels_of_axes_keep_apart(tab, tmp_path, name, width) -> None:
    make = PAGES[name]
    path = tmp_path / "page.html"
    path.write_bytes(make() if callable(make) else plan_page(make))
    tab.resize(width, 900)
    tab.open(path)
    tab.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    tab.draw_all()
    assert tab.evaluate("document.querySelectorAll('.role-axis-label text').length") > 50
    assert tab.evaluate(LABELS) == []
