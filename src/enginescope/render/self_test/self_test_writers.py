"""Writers of a self-test: JSON, Markdown and a page that needs no network."""

from __future__ import annotations

from enginescope.records.verdict.self_test import SelfTest
from enginescope.render.base.answer_tables import AnswerTables, answer_json, answer_markdown
from enginescope.render.html.answer_page import PageSection, answer_page
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.self_test.self_test_phrases import (
    answer_text,
    comparison_table,
    curve_table,
    scope_facts,
)

#: Version of the document's shape.
SELF_TEST_SCHEMA = 1


def self_test_answer(test: SelfTest) -> AnswerTables:
    """Return the answer, its facts, the curve and the measured comparisons."""
    return AnswerTables(
        answer=answer_text(test),
        facts=scope_facts(test),
        tables=(curve_table(test), comparison_table(test)),
        notices=test.notices,
    )


def self_test_json(test: SelfTest) -> bytes:
    """Return the answer and the whole self-test as strict JSON."""
    return answer_json(SELF_TEST_SCHEMA, answer=answer_text(test), report=test)


def self_test_markdown(test: SelfTest) -> bytes:
    """Return the answer, what it is about, and the tables."""
    return answer_markdown(self_test_answer(test))


def self_test_page(test: SelfTest) -> bytes:
    """Return the page: the answer, the curve, then the measured comparisons."""
    answered = self_test_answer(test)
    curve, measured = (table.figures() for table in answered.tables)
    return answer_page(
        "doctor --self-test",
        answered,
        {"self-test.json": self_test_json(test)},
        title="Self-test",
        charts=[detection_chart(test)],
        overview=curve,
        sections=[
            PageSection(title="Measured comparisons", anchor="measured", figures=(measured,))
        ],
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
