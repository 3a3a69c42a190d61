"""Labels of axes at every width: none lies on another, and no two names look alike."""

import pytest

from tests.conftest import DATA
from tests.render.page.test_accessibility_browser import plan_page, report
from tests.render.page.test_widths_browser import LABELS

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
