"""Charts and graphs in a notebook: live where scripts run, a picture where they do not."""

import sys
from types import SimpleNamespace

import pytest

import enginescope as es
from enginescope.analysis.runs.run_view import RunView
from enginescope.notebook import chart as live
from enginescope.render.sections.graph import graph_page
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.conftest import missing
from tests.notebook.html.pages import checked_live
from tests.render.every_page import PLAN


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    try:
        import vl_convert  # noqa: F401 - draws the pictures
    except ImportError:
        missing("vl-convert is not installed")
    folder = es.samples(tmp_path_factory.mktemp("samples"))
    return es.open_plan(folder / "resnet18" / "resnet18.graph.json", gpu="NVIDIA H200")


def test_a_chart_has_a_picture_and_nothing_from_elsewhere(plan) -> None:
    chart = plan.chart("latency-per-type")
    found = checked_live(chart._repr_html_())
    assert found.elements.count("img") == 1
    assert "table" in found.elements
    assert chart._repr_png_()[:4] == b"\x89PNG"
    assert checked_live(plan.graph(color="type")._repr_html_()).elements == ["div", "img"]
    assert "<script" not in plan.graph(only=["type:Pooling"])._repr_html_()


def test_rows_are_numbers(plan) -> None:
    rows = plan.chart("latency-per-layer", top=5).rows()
    assert len(rows) >= 5
    slowest = max(plan.profile.layers, key=lambda one: one.time_ms)
    assert rows[0]["Layer"] == slowest.name
    assert rows[0]["Time, ms"] == slowest.time_ms  # and not what is shown of it
    total = sum(row["Layers"] for row in plan.chart("latency-per-type").rows())
    assert total == len(plan.to_pandas())


def test_long_tables_have_no_row_for_what_is_left_out() -> None:
    from enginescope.notebook.chart import ChartDisplay
    from enginescope.render.charts.tip_table import table_of_tips
    from enginescope.render.html.images import Chart

    tips = {"layer": "layer", "ms": "ms#"}
    table = table_of_tips([{"layer": f"layer {at}", "ms": at / 3} for at in range(300)], tips)
    rows = ChartDisplay(Chart(key="a", title="A", spec={}, table=table)).rows()
    assert (len(rows), rows[-1]) == (250, {"Layer": "layer 249", "Ms": 83})
    rows = [{"layer": "a", "ms": None}, {"layer": "b", "ms": "−1,234.5"}]
    unknown = table_of_tips(rows, tips)
    assert [
        row["Ms"] for row in ChartDisplay(Chart(key="a", title="A", spec={}, table=unknown)).rows()
    ] == [None, -1234.5]


def test_the_library_comes_once_a_kernel_and_again_with_its_cell(monkeypatch) -> None:
    at = {"cellId": "first", "count": 1}
    shell = SimpleNamespace(
        kernel=object(), get_parent=lambda: {"metadata": {"cellId": at["cellId"]}}
    )
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(live, "_BROUGHT", [])

    def brings(cell: str, count: int) -> bool:
        at["cellId"], shell.execution_count = cell, count
        return live._brings_library()

    assert brings("first", 1)
    assert not brings("first", 1)  # the second chart of the cell
    assert not brings("second", 2)
    assert brings("first", 3)  # its output, with the library, is gone
    assert not brings("second", 4)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert live._brings_library()


def page_of(*outputs: str) -> bytes:
    return f"<!doctype html><meta charset='utf-8'><body>{''.join(outputs)}</body>".encode()


@pytest.mark.browser
def test_hover(tab, plan, tmp_path, monkeypatch) -> None:
    page = tmp_path / "notebook.html"
    one, two = plan.chart("precision-rollup"), plan.chart("latency-per-type")
    first = one._repr_html_()
    monkeypatch.setattr(live, "_brings_library", lambda: False)
    # the chart that brings the library may be drawn last
    page.write_bytes(page_of(two._repr_html_(), first, plan.graph(color="time")._repr_html_()))
    tab.send("Page.navigate", url=page.as_uri())
    tab.until("document.querySelectorAll('[data-live=chart] svg').length === 2")
    tab.until("document.querySelectorAll('img').length === 0")  # the graph's went too
    assert tab.evaluate("document.querySelector('iframe').sandbox.value") == "allow-scripts"
    bar = (
        "document.querySelector('svg')"
        ".querySelector('.mark-rect path, .mark-bar path, [aria-roledescription=bar]')"
    )
    move = "new MouseEvent('{}', {{ bubbles: true, clientX: 200, clientY: 100 }})"
    for kind in ("mouseover", "mousemove", "pointerover", "pointermove"):
        tab.evaluate(f"{bar}.dispatchEvent({move.format(kind)})")
    tab.until("document.querySelector('.enginescope-tip')?.textContent.includes('Convolution')")
    assert tab.complaints() == []
    assert [one for one in tab.requests() if one.startswith("http")] == []


@pytest.mark.browser
def test_the_graph_in_its_frame_is_drawn(tab, tmp_path) -> None:
    page = tmp_path / "graph.html"
    made = graph_page(RunView(resolve_plan(str(PLAN)).as_run()), "time")
    assert made is not None
    page.write_bytes(made)
    tab.send("Page.navigate", url=page.as_uri())
    tab.until("document.querySelector('.graph')?.dataset.state === 'ready'")
    assert tab.complaints() == []


@pytest.mark.browser
def test_without_scripts_the_pictures_stay(tab, plan, tmp_path) -> None:
    page = tmp_path / "notebook.html"
    outputs = [plan.chart("latency-per-type"), plan.graph(color="type")]
    page.write_bytes(page_of(*(one._repr_html_() for one in outputs)))
    tab.send("Emulation.setScriptExecutionDisabled", value=True)
    tab.send("Page.navigate", url=page.as_uri())
    wide = "[...document.images].map((one) => one.complete && one.naturalWidth > 300)"
    tab.until("document.readyState === 'complete' && document.images.length === 2")
    assert tab.evaluate(wide) == [True, True]
