"""Histories as text, as pictures, and their page in a real browser."""

import json

import pytest

from enginescope.analysis.verdicts.history import histories
from enginescope.core.record import replace
from enginescope.records.verdict.history import Level
from enginescope.render.verdicts.history_page import history_chart, history_page
from enginescope.render.verdicts.history_text import dot_plot, flat_ends, letter, title_text
from tests.analysis.gated_runs import job
from tests.analysis.historic_runs import host, over_days

EVIL = "<script>alert(1)</script>"
STEP = [4.0] * 12 + [4.4] * 12


@pytest.mark.browser
def test_every_picture_is_drawn_and_nothing_is_asked_for(tab, tmp_path) -> None:
    runs = over_days(STEP, environments={0: host(tensorrt=EVIL)})
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


def test_the_newest_figure_and_the_noise_are_said_and_drawn() -> None:
    """The axis of 0.9 % made noise look like jumps beside `no change of level`."""
    (found,) = histories(over_days([4.0] * 6))
    newest, values = found.points[-1], [point.value for point in found.points]
    title, spread = title_text(found), f"{100 * (max(values) / min(values) - 1):.2g} %"
    assert f" batch 1: newest {newest.value:.3f} ms (95 % CI {newest.lowest:.3f}" in title
    assert f"), sessions within {spread}; no change of level" in title
    chart = history_chart([found])
    (band,) = (one for one in chart.spec["layer"] if one["mark"]["type"] == "rect")
    (row,) = band["data"]["values"]
    assert row["label"].startswith("level 4.0")
    assert (row["low"], row["high"]) == pytest.approx((row["value"] / 1.02, row["value"] * 1.02))
    assert "95 % CI" in chart.subtitle[1]


@pytest.mark.parametrize("count", [1, 2, 7, 60, 1000])
@pytest.mark.parametrize("width", [30, 80])
def test_a_plot_keeps_its_width_and_shows_every_extreme(count, width) -> None:
    values = [4.0 + 0.001 * (at % 13) for at in range(count)]
    levels = [Level(first=0, last=count - 1, value=4.005)]
    lines = dot_plot(values, levels=levels, marks=[(count // 2, "A")], width=width)
    assert max(map(len, lines)) <= width
    assert "A" in lines[-1]
    assert any("•" in line for line in lines)


@pytest.mark.parametrize("value", [1.5, 0.0])
def test_a_flat_series_has_ticks_with_digits_that_it_carries(value: float) -> None:
    """Its axis had 1.500000 at every tick."""
    ends = flat_ends([value, value * (1 + 1e-7)])
    assert ends[1] - ends[0] >= 0.02 * value
    ticks = [line.split("┤")[0].strip() for line in dot_plot([value] * 9) if "┤" in line]
    assert all(len(one.strip("-−")) <= 5 for one in ticks), ticks
    assert flat_ends([1.5, 1.51]) is None
    (found,) = histories(over_days([1.5] * 8))
    alike = [replace(one, value=1.5, lowest=1.5, highest=1.5) for one in found.points]
    flat = replace(found, points=tuple(alike))
    assert '"domain": [1.485, 1.515]' in json.dumps(history_chart([flat, flat]).spec)


def test_letters_go_on_after_z_and_stay_inside_the_picture() -> None:
    """They stood above its upper edge, and were cut off."""
    assert [letter(at) for at in (0, 25, 26, 51, 52)] == ["A", "Z", "AA", "AZ", "BA"]
    (found,) = histories(over_days(STEP))
    texts = [
        one
        for one in history_chart([found]).spec["layer"]
        if one["mark"]["type"] == "text" and "letter" in one["data"]["values"][0]
    ]
    assert [one["data"]["values"][0]["letter"] for one in texts] == ["A"]
    assert all(one["encoding"]["y"] == {"value": 0} and one["mark"]["dy"] > 0 for one in texts)
