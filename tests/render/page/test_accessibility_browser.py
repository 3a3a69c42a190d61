"""What axe finds in the pages: nothing serious, in both themes, with everything unfolded."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.render.page.page import report_page
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.analysis.runs.test_time_line import trace
from tests.conftest import DATA, missing
from tests.render.browser import chromium_tab
from tests.render.gpu_runs import gpu_run
from tests.render.runs import failed_run, imported_run, measured_run

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "axe"
FINDINGS = """
(async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  const serious = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  const said = (one, node) => `${one.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`;
  return serious.flatMap((one) => one.nodes.slice(0, 6).map((node) => said(one, node)));
})()
"""


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


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with chromium_tab(tmp_path_factory.mktemp("profile")) as made:
        yield made


def plan_page(file: Path) -> bytes:
    return report_page([PageSubject(RunView(resolve_plan(str(file)).as_run()))])


def report() -> bytes:
    runs = (
        measured_run(trace=trace([2.0] * 6)),
        gpu_run(),
        failed_run(),
        imported_run(),
    )
    return report_page([RunView(run) for run in runs])


PAGES = {
    **{file.name: (plan_page, file) for file in sorted(DATA.rglob("*.graph.json"))},
    "report": (report,),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(tab, axe, tmp_path, name, theme) -> None:
    make, *arguments = PAGES[name]
    path = tmp_path / "page.html"
    path.write_bytes(make(*arguments))
    tab.open(path)
    tab.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    tab.evaluate(
        "document.dispatchEvent(new Event('theme'));"
        "for (const one of document.querySelectorAll('details')) one.open = true;"
        "for (const one of document.querySelectorAll('.graph')) one.scrollIntoView()"
    )
    tab.until(
        "[...document.querySelectorAll('.graph')].every((one) => one.dataset.state === 'ready')"
    )
    tab.evaluate("pageSelect('table-layers', null, 0)")
    tab.draw_all()
    tab.evaluate(axe)
    assert tab.evaluate(FINDINGS, awaits=True) == []


def test_axe_sees_what_is_wrong(tab, axe, tmp_path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(report())
    tab.open(path)
    tab.evaluate("document.querySelector('main').append(document.createElement('select'))")
    tab.evaluate(axe)
    found = tab.evaluate(FINDINGS, awaits=True)
    assert any(one.startswith("select-name") for one in found)
