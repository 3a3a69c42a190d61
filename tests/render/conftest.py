"""One browser for the tests of a module, with a blank page for each."""

import pytest

from tests.render.browser import chromium_tab


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium_tab(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def tab(browser):
    browser.reset()
    return browser
