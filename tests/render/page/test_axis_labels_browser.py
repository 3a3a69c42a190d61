"""Labels of axes at every width: none lies on another, and no two names look alike."""

from __future__ import annotations

import pytest

from tests.conftest import DATA
from tests.render.browser import chromium_tab
from tests.render.page.test_accessibility_browser import plan_page, report

pytestmark = pytest.mark.browser

#: Each axis with labels that overlap, or that repeat; those that Vega leaves out are transparent.
WRONG = """
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
PAGES = {"report": report, **{one.name: one for one in sorted(DATA.rglob("*.graph.json"))}}


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with chromium_tab(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.mark.parametrize("width", [1920, 1280, 800, 420])
@pytest.mark.parametrize("name", PAGES)
def test_labels_of_axes_keep_apart(tab, tmp_path, name, width) -> None:
    make = PAGES[name]
    path = tmp_path / "page.html"
    path.write_bytes(make() if callable(make) else plan_page(make))
    tab.send(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=900, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    tab.open(path)
    tab.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    tab.draw_all()
    assert tab.evaluate("document.querySelectorAll('.role-axis-label text').length") > 50
    assert tab.evaluate(WRONG) == []
