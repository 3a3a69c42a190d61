"""The pages in a browser: no complaint, no request elsewhere, filters, the keyboard."""

from __future__ import annotations

import json

import pytest

from enginescope.serve.access import Access
from tests.render.browser import Tab, chromium_tab
from tests.serve.conftest import TOKEN, served

pytestmark = pytest.mark.browser


@pytest.fixture
def tab(tmp_path):
    with chromium_tab(tmp_path / "profile") as made:
        yield made


def visit(tab: Tab, address: str) -> None:
    tab.send("Page.navigate", url=address)
    tab.until("document.readyState === 'complete' && location.href !== 'about:blank'")
    tab.until(f"location.href.startsWith({json.dumps(address)})")


def press(tab: Tab, key: str, code: int, text: str = "") -> None:
    for kind in ("keyDown", "keyUp"):
        tab.send(
            "Input.dispatchKeyEvent",
            type=kind,
            key=key,
            code=key,
            windowsVirtualKeyCode=code,
            text=text if kind == "keyDown" else "",
        )


def shown(tab: Tab) -> list[str]:
    return tab.evaluate(
        "[...document.querySelectorAll('#found td:nth-child(2) a')].map((a) => a.textContent)"
    )


def test_every_page_is_content(tab, store) -> None:
    with served(store) as address:
        for path in (
            *("/", "/runs", "/models", "/suites", "/runs/aaa111", "/runs/aaa111/files"),
            *("/history?model=resnet.onnx", "/compare?run=aaa111&run=aaa222"),
        ):
            visit(tab, address + path)
            assert tab.evaluate("document.querySelector('h1, h2').textContent.length") > 0
            wide = "document.documentElement.scrollWidth <= innerWidth"
            assert tab.evaluate(wide), path
        tab.evaluate("1")  # what was reported meanwhile is in
        assert tab.complaints() == []
        assert {url for url in tab.requests() if not url.startswith(address)} == set()


def test_a_list_follows_what_is_typed(tab, store) -> None:
    with served(store) as address:
        visit(tab, f"{address}/runs")
        tab.until("typeof htmx === 'object'")
        assert shown(tab) == ["bbb222", "bbb111", "aaa222", "aaa111"]
        tab.evaluate("document.querySelector('input[name=model]').focus()")
        for letter in "resn":
            press(tab, letter, ord(letter.upper()), letter)
        tab.until("document.querySelectorAll('#found tbody tr').length === 2")
        assert shown(tab) == ["aaa222", "aaa111"]
        assert "model=resn" in tab.evaluate("location.search")
        assert tab.evaluate("document.activeElement.name") == "model"
        assert tab.complaints() == []


def test_two_runs_are_chosen_by_keyboard(tab, store) -> None:
    with served(store) as address:
        visit(tab, f"{address}/runs?model=resnet")
        tab.until("document.querySelector('[data-compare]').disabled")
        tab.evaluate("document.querySelector('input[name=run]').focus()")
        press(tab, " ", 32, " ")
        assert tab.evaluate("document.querySelector('[data-compare]').disabled")
        tab.evaluate("document.querySelectorAll('input[name=run]')[1].focus()")
        press(tab, " ", 32, " ")
        assert not tab.evaluate("document.querySelector('[data-compare]').disabled")
        tab.evaluate("document.querySelector('[data-compare]').focus()")
        press(tab, "Enter", 13, "\r")
        tab.until("location.pathname === '/compare'")
        tab.until("document.querySelector('h1') !== null")
        assert "aaa2" in tab.evaluate("document.querySelector('.store-bar').textContent")


def test_signing_in(tab, store) -> None:
    with served(store, Access(token=TOKEN)) as address:
        visit(tab, address)
        tab.until("location.pathname === '/login' && document.activeElement.id === 'token'")
        for letter in TOKEN:
            press(tab, letter, ord(letter.upper()), letter)
        press(tab, "Enter", 13, "\r")
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
        visit(tab, f"{address}/models")
        tab.until("document.documentElement.dataset.theme !== undefined")
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == after


def test_without_scripts_it_works_too(tab, store) -> None:
    with served(store) as address:
        tab.send("Emulation.setScriptExecutionDisabled", value=True)
        tab.send("Page.navigate", url=f"{address}/runs?model=resnet")
        tab.until("location.search === '?model=resnet' && document.readyState === 'complete'")
        assert shown(tab) == ["aaa222", "aaa111"]
        assert tab.evaluate("document.querySelector('[data-compare]').disabled") is False
