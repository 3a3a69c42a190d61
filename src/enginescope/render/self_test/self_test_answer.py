"""The answer of a self-test, for terminal, Markdown, page and JSON alike."""

from __future__ import annotations

from enginescope.records.verdict.self_test import SelfTest
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.self_test.self_test_phrases import (
    answer_text,
    comparison_table,
    curve_table,
    scope_facts,
)


def self_test_answer(test: SelfTest) -> Answer:
    """Return the answer, its facts, the curve and the measured comparisons."""
    return Answer(
        verb="self-test",
        title="Self-test",
        answer=answer_text(test),
        facts=scope_facts(test),
        tables=(curve_table(test), comparison_table(test)),
        notices=test.notices,
        report=test,
        charts=(detection_chart(test),),
    )


def detection_chart(test: SelfTest) -> Chart:
    """Return the detection curve with its 95 % interval, and a line at 95 %."""
    rows = [
        {"x": one.difference_pct, "y": one.found_pct, "low": one.low_pct, "high": one.high_pct}
        for one in test.curve
    ]
    scale = {"domain": [0, 100]}
    height = quantity("y", "comparisons that find it, %", scale=scale)
    planted = quantity("x", "planted difference, %", axis={"grid": False})
    tips = tooltip(x="planted, %#", y="found, %#", low="from, %#", high="to, %#")
    line = {"mark": {"type": "line", "point": True}}
    encoding = {"x": planted, "y": height, "tooltip": tips}
    band: Spec = {
        "mark": {"type": "area", "opacity": 0.25},
        "encoding": {"x": planted, "y": {**height, "field": "low"}, "y2": {"field": "high"}},
    }
    goal: Spec = {
        "data": {"values": [{"y": 95}]},
        "mark": {"type": "rule", "strokeDash": [6, 3]},
        "encoding": {"y": height},
    }
    table = curve_table(test)
    return Chart(
        key="detection",
        title="Share of comparisons that find a difference",
        subtitle=("The dashed line is at 95 %; the band is the 95 % interval",),
        spec={"data": {"values": rows}, "layer": [band, {**line, "encoding": encoding}, goal]},
        table=ChartTable(headers=table.headers, rows=table.rows),
        is_wide=True,
    )
