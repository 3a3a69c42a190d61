"""Bars of where the time goes, and what is at stake."""

from __future__ import annotations

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.render.charts.stacked_time import time_stacked
from tests.render.runs import imported_run

STAKES = {"TIME205": 0.1, "PLAN115": 0.05}


def rows_of(chart, name):
    return [row for row in chart.spec["data"]["values"] if row["row"] == name]


def test_what_is_at_stake_is_a_part_of_the_engine_without_the_profiler() -> None:
    chart = time_stacked(RunView(imported_run(samples=(), tool=None)), STAKES, 0.5)
    at_stake = rows_of(chart, "findings save, by rule")
    assert [(row["name"], row["share"]) for row in at_stake] == [
        ("TIME205", pytest.approx(20)),
        ("PLAN115", pytest.approx(10)),
        ("no finding", pytest.approx(70)),
    ]
    assert at_stake[-1]["end"] == pytest.approx(0.5)
    by_type = rows_of(chart, "by type")
    assert by_type[-1]["end"] == pytest.approx(0.7)
    assert sum(row["room"] for row in by_type) == pytest.approx(1)
    assert sum(row["room"] for row in at_stake) == pytest.approx(0.5 / 0.7)
    (why,) = chart.subtitle
    assert "0.7000 ms in the profile" in why
    assert "0.5000 ms without it" in why


@pytest.mark.parametrize(("stakes", "engine_ms"), [({}, 0.5), (STAKES, 0.7), (STAKES, None)])
def test_nothing_is_said_of_bars_of_the_same_time(stakes, engine_ms) -> None:
    chart = time_stacked(RunView(imported_run(samples=(), tool=None)), stakes, engine_ms)
    assert chart.subtitle == ()
