from tests.render.conftest import browser, tab  # noqa: F401 - fixtures
