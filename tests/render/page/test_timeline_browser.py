"""The time line on the page: what is chosen in it is chosen everywhere, and the other way round."""

from __future__ import annotations

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.render.page.page import report_page
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.conftest import DATA
from tests.render.browser import chromium_tab

pytestmark = pytest.mark.browser

BARS = "[...document.querySelectorAll('#chart-layer_timeline .mark-rect.role-mark path')]"
FRAMED = f"{BARS}.filter((one) => Number(one.getAttribute('stroke-width')) > 0)"


@pytest.fixture
def tab(tmp_path):
    path = tmp_path / "plan.html"
    file = DATA / "trt86-h200" / "resnet18.graph.json"
    path.write_bytes(report_page([PageSubject(RunView(resolve_plan(str(file)).as_run()))]))
    with chromium_tab(tmp_path / "profile") as made:
        made.open(path)
        made.evaluate("document.getElementById('graph').scrollIntoView()")
        made.until("document.querySelector('.graph').dataset.state === 'ready'")
        made.evaluate("pageReveal(document.getElementById('timeline'))")
        made.evaluate("document.getElementById('timeline').scrollIntoView()")
        made.until(f"{BARS}.length > 0")
        yield made
        assert made.complaints() == []


def middle(tab, of: str) -> tuple[float, float]:
    x, y = tab.evaluate(
        f"(() => {{ const b = {of}.getBoundingClientRect();"
        " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    return x, y


def test_a_layer_of_the_time_line_is_chosen_everywhere(tab) -> None:
    assert tab.evaluate(f"{BARS}.length") == 41
    x, y = middle(tab, f"{BARS}[12]")
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    tip = tab.evaluate("document.querySelector('.tip').innerText")
    assert "kernel" in tip.lower()
    for kind in ("mousePressed", "mouseReleased"):
        tab.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    name = tab.evaluate("document.querySelector('tr.marked').cells[1].title")
    assert name in tip
    assert tab.evaluate("document.querySelector('[data-part=panel] h3').textContent") == name
    tab.until(f"{FRAMED}.length === 1")
    assert name in tab.evaluate(f"{FRAMED}[0].getAttribute('aria-label')")


def test_a_layer_of_the_graph_is_framed_in_the_time_line_and_marked_in_the_table(tab) -> None:
    assert tab.evaluate(f"{FRAMED}.length") == 0
    tab.evaluate(
        "window.view = document.querySelector('.graph').view; view.select(view.scene.boxOf[20])"
    )
    name = tab.evaluate("view.plan.name(20)")
    tab.until(f"{FRAMED}.length === 1")
    assert name in tab.evaluate(f"{FRAMED}[0].getAttribute('aria-label')")
    assert tab.evaluate("document.querySelector('tr.marked').cells[1].title") == name
    assert tab.evaluate("document.querySelector('.picked').hidden")
