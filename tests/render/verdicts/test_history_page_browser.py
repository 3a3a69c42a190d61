"""The page of histories in a real browser."""

import pytest

from enginescope.analysis.verdicts.history import histories
from enginescope.render.verdicts.history_page import history_page
from tests.analysis.gated_runs import job
from tests.analysis.historic_runs import host, over_days

pytestmark = pytest.mark.browser

EVIL = "<script>alert(1)</script>"


def test_every_picture_is_drawn_and_nothing_is_asked_for(tab, tmp_path) -> None:
    runs = over_days([4.0] * 12 + [4.4] * 12, environments={0: host(tensorrt=EVIL)})
    runs += over_days([9.0] * 6 + [9.9], of=job(f"{EVIL}.onnx", "trt"))
    path = tmp_path / "history.html"
    path.write_bytes(history_page(histories(runs), model=EVIL))
    tab.open(path)
    tab.draw_all()
    assert tab.evaluate("document.querySelectorAll('.vis svg').length") == 2
    picture = "document.querySelector('.vis svg').getBoundingClientRect().bottom"
    assert tab.evaluate(picture) <= 800
    assert tab.evaluate("document.querySelectorAll('h1, h2')[2].textContent").count(EVIL) == 1
    assert tab.evaluate("document.querySelector('.vis svg').textContent").count("A") >= 1
    ticks = "[...document.querySelectorAll('.vis svg .role-axis-label text')]"
    words = tab.evaluate(f"{ticks}.map((one) => one.textContent)")
    assert any(word.startswith("2026-01-") for word in words), words  # days, not numbers
    assert tab.requests() == [path.as_uri()]
    assert tab.complaints() == []
