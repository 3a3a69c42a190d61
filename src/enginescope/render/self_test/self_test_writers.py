"""Writers of a self-test: JSON, Markdown and a page that needs no network."""

from __future__ import annotations

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.self_test import SelfTest
from enginescope.render.base.answer_markdown import answer_markdown
from enginescope.render.base.figures import TextTable
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes
from enginescope.render.self_test.self_test_phrases import (
    answer_text,
    comparison_table,
    curve_table,
    scope_facts,
)

#: Version of the document's shape.
SELF_TEST_SCHEMA = 1


def self_test_tables(test: SelfTest) -> list[TextTable]:
    """Return the curve and the measured comparisons."""
    return [curve_table(test), comparison_table(test)]


def self_test_json(test: SelfTest) -> bytes:
    """Return the answer and the whole self-test as strict JSON."""
    return encode(
        {
            "schema": SELF_TEST_SCHEMA,
            "enginescope": __version__,
            "answer": answer_text(test),
            "report": test,
        }
    )


def self_test_markdown(test: SelfTest) -> bytes:
    """Return the answer, what it is about, and the tables."""
    tables = self_test_tables(test)
    return answer_markdown(answer_text(test), scope_facts(test), tables, test.notices)


def self_test_page(test: SelfTest, *, script_address: str | None = None) -> bytes:
    """Return the page: the answer, the curve, then the measured comparisons.

    Args:
        script_address: See `page_bytes`.
    """
    answer = answer_text(test)
    curve, measured = self_test_tables(test)
    chart = detection_chart(test)
    files = {"self-test.json": self_test_json(test).decode()}
    return page_bytes(
        "answer.html.j2",
        PageData(charts=charts_data([chart]), files=files),
        script_address=script_address,
        title="Self-test",
        what="doctor --self-test",
        chart=chart,
        answer=f"{answer[:1].upper()}{answer[1:]}",
        facts=scope_facts(test),
        notices=test.notices,
        overview=curve.figures(),
        sections=[("Measured comparisons", "measured", measured.figures())],
        left_out=[],
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
