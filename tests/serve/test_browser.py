import json
import time

import pytest

from enginescope.records.run.run import Outcome, OutcomeKind
from enginescope.records.suite.suite import CellRow, Claim, SuiteChange
from enginescope.serve.access import Access
from tests.render.browser import Tab
from tests.serve.conftest import TOKEN, served
from tests.store.stored_runs import a_run
from tests.suites.made import cell, result, timed

pytestmark = pytest.mark.browser


def visit(tab: Tab, address: str) -> None:
    tab.send("Page.navigate", url=address)
    tab.until("document.readyState === 'complete' && location.href !== 'about:blank'")
    tab.until(f"location.href.startsWith({json.dumps(address)})")


def shown(tab: Tab) -> list[str]:
    return tab.evaluate(
        "[...document.querySelectorAll('#found td:nth-child(1) a')].map((a) => a.textContent)"
    )


def test_a_list_follows_what_is_typed(tab, store) -> None:
    with served(store) as address:
        visit(tab, f"{address}/runs")
        tab.until("typeof htmx === 'object'")
        assert shown(tab) == ["bbb222", "bbb111", "aaa222", "aaa111"]
        tab.evaluate("document.querySelector('input[name=model]').focus()")
        tab.press(*"resn")
        tab.until("document.querySelectorAll('#found tbody tr').length === 2")
        assert shown(tab) == ["aaa222", "aaa111"]
        assert "model=resn" in tab.evaluate("location.search")
        assert tab.evaluate("document.activeElement.name") == "model"
        assert tab.complaints() == []


IS_CURRENT = (
    "fetch(document.querySelector('#found > span[hx-get]').getAttribute('hx-get'))"
    ".then((answer) => !answer.headers.has('HX-Trigger'))"
)


def test_a_job_is_chosen_and_stays_chosen_while_the_page_updates_itself(tab, store) -> None:
    model = "document.querySelector('#chosen h2')?.textContent"
    failed = {"samples": (), "outcome": Outcome(kind=OutcomeKind.CRASHED, message="it crashed")}
    store.save(a_run("resnet.onnx", id="aaa333", at=5, **failed))
    with served(store) as address:
        visit(tab, address)
        tab.until(
            "typeof htmx === 'object' && document.querySelectorAll('.jobs tbody tr').length === 2"
        )
        tab.until("!document.querySelector('#counts').textContent.includes('; reading')")
        first = tab.evaluate(model)
        tab.evaluate("document.querySelector('.jobs tr:not([aria-current]) td').click()")
        tab.until(f"({model} ?? {json.dumps(first)}) !== {json.dumps(first)}")
        second = tab.evaluate(model)
        tab.until("location.search.includes('job=')")
        while not tab.evaluate(IS_CURRENT, awaits=True):  # an update would take the focus
            time.sleep(0.1)
        tab.evaluate("document.querySelector('.jobs tbody tr:not([aria-current]) a').focus()")
        tab.press("Enter")
        tab.until(f"{model} === {json.dumps(first)}")
        tab.until(f"document.activeElement.textContent === {json.dumps(first)}")
        tab.evaluate("history.back()")
        tab.until(f"document.readyState === 'complete' && {model} === {json.dumps(second)}")
        store.save(a_run("another.onnx", id="ccc111", at=9, **failed))
        tab.until("document.querySelectorAll('.jobs tbody tr').length === 3")
        assert tab.evaluate(model) == second
        assert tab.complaints() == []


def test_two_runs_are_chosen_by_keyboard(tab, store) -> None:
    with served(store) as address:
        visit(tab, f"{address}/runs?model=resnet")
        tab.until("document.querySelector('[data-compare]').disabled")
        tab.evaluate("document.querySelector('input[name=run]').focus()")
        tab.press(" ")
        assert tab.evaluate("document.querySelector('[data-compare]').disabled")
        tab.evaluate("document.querySelectorAll('input[name=run]')[1].focus()")
        tab.press(" ")
        assert not tab.evaluate("document.querySelector('[data-compare]').disabled")
        tab.evaluate("document.querySelector('[data-compare]').focus()")
        tab.press("Enter")
        tab.until("location.pathname === '/compare'")
        tab.until("document.querySelector('h1') !== null")
        assert "aaa2" in tab.evaluate("document.querySelector('.pages.own').textContent")


def test_what_is_ticked_and_asked_for_stays_in_the_address(tab, store) -> None:
    ticked = "[...document.querySelectorAll('input[name=run]:checked')].map((box) => box.value)"
    with served(store) as address:
        visit(tab, f"{address}/runs")
        tab.until("typeof htmx === 'object'")
        tab.evaluate("document.querySelectorAll('input[name=run]')[3].click()")
        assert tab.evaluate("location.search") == "?pick=aaa111"
        field = "document.querySelector('input[name=model]')"
        tab.evaluate(f"{field}.value = 'bert'")
        tab.evaluate(f"{field}.dispatchEvent(new Event('input', {{ bubbles: true }}))")
        tab.until("document.querySelectorAll('#found tbody tr').length === 2")
        tab.until("location.search.includes('model=bert')")
        assert "pick=aaa111" in tab.evaluate("location.search")
        assert tab.evaluate(ticked) == ["aaa111"]  # though it is not in this list
        tab.evaluate("document.querySelectorAll('#found tbody input[name=run]')[1].click()")
        tab.evaluate("window.stale = true; location.reload()")
        tab.until("!window.stale && document.readyState === 'complete' && window.htmx")
        assert tab.evaluate(ticked) == ["bbb111", "aaa111"]
        assert tab.evaluate(f"{field}.value") == "bert"
        tab.until("!document.querySelector('[data-compare]').disabled")
        tab.evaluate("document.querySelector('th a.sort[href*=oldest]').click()")
        tab.until("location.search.includes('sort=oldest') && document.readyState === 'complete'")
        assert shown(tab) == ["bbb111", "bbb222"]
        assert tab.evaluate(ticked) == ["bbb111", "aaa111"]
        tab.evaluate("document.querySelector('[data-compare]').click()")
        tab.until("location.pathname === '/compare'")
        assert tab.evaluate("location.search") == "?run=bbb111&run=aaa111"
        assert tab.complaints() == []


def test_the_way_to_compare_is_in_sight(tab, store) -> None:
    for number in range(60):
        store.save(a_run("many.onnx", id=f"run{number:03}", at=number))
    with served(store) as address:
        for width in (1920, 1280, 800, 420):
            tab.resize(width, 700)
            visit(tab, f"{address}/runs")
            box = "document.querySelector('[data-compare]').getBoundingClientRect()"
            assert tab.evaluate(f"{box}.top > 0 && {box}.bottom <= innerHeight"), width
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


def test_the_page_of_a_suite_that_runs_shows_the_next_row(tab, store) -> None:
    cells = tuple(cell(f"net{at}", spec) for at in range(3) for spec in ("ort-cpu", "trt:fp16"))
    plan, rows = result([], cells=cells).plan, [timed(one, 2.0) for one in cells]

    def put(*ended: CellRow, seconds: float = 900) -> None:
        claim = Claim(owner="gpu7 (process 12)", token="t", seconds=seconds)
        store.suites.put_suite("nightly", SuiteChange(plan=plan, rows=ended, claim=claim))

    line = "document.querySelector('#live').textContent"
    put(*rows[:2])
    with served(store) as address:
        visit(tab, f"{address}/suites/nightly#table-matrix?sort=0")
        tab.until("typeof htmx === 'object' && document.readyState === 'complete'")
        assert "Running on gpu7 (process 12) · 2 of 6 cells" in tab.evaluate(line)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        put(rows[2])
        tab.until(f"document.readyState === 'complete' && {line}.includes('3 of 6 cells')")
        assert tab.evaluate("location.hash") == "#table-matrix?sort=0"
        put(*rows[3:])
        put(seconds=0)
        tab.until("document.readyState === 'complete' && !document.querySelector('#live')")
        assert tab.complaints() == []
        assert {url for url in tab.requests() if not url.startswith(address)} == set()


def test_signing_in(tab, store) -> None:
    with served(store, Access(token=TOKEN)) as address:
        visit(tab, address)
        tab.until("location.pathname === '/login' && document.activeElement.id === 'token'")
        tab.press(*TOKEN, "Enter")
        tab.until("location.pathname === '/' && document.readyState === 'complete'")
        assert tab.evaluate("document.cookie") == ""  # no script can read it
        assert TOKEN not in tab.evaluate("document.documentElement.outerHTML")
        visit(tab, f"{address}/runs")
        tab.evaluate("document.querySelector('form[action=\"/logout\"] button').click()")
        tab.until("location.pathname === '/login'")


def test_the_theme_is_kept(tab, store) -> None:
    with served(store) as address:
        visit(tab, f"{address}/runs")
        tab.until("!document.getElementById('theme').hidden")
        before = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        tab.evaluate("document.getElementById('theme').click()")
        after = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert before != after
        visit(tab, f"{address}/suites")
        tab.until("document.documentElement.dataset.theme !== undefined")
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == after


def test_without_scripts_it_works_too(tab, store) -> None:
    with served(store) as address:
        tab.send("Emulation.setScriptExecutionDisabled", value=True)
        tab.send("Page.navigate", url=f"{address}/runs?model=resnet")
        tab.until("location.search === '?model=resnet' && document.readyState === 'complete'")
        assert shown(tab) == ["aaa222", "aaa111"]
        assert tab.evaluate("document.querySelector('[data-compare]').disabled") is False


def test_report_pages_run_the_shared_script(tab, store) -> None:
    with served(store) as address:
        for path in ("/runs/aaa111", "/compare?run=aaa111&run=aaa222"):
            visit(tab, address + path)
            tab.until("document.querySelector('.vega-embed canvas, .vega-embed svg') !== null")
            assert not tab.evaluate("document.getElementById('theme').hidden")
        assert tab.complaints() == []
        scripts = [url for url in tab.requests() if url.endswith(".js") and "/pages-" in url]
        assert len(set(scripts)) == 1
