"""A load test as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from enginescope.records.verdict.load import LoadReport
from enginescope.render.html.answer_page import PageSection, answer_page
from enginescope.render.load.load_chart import load_chart
from enginescope.render.load.load_writers import load_answer, load_json


def load_page(report: LoadReport) -> bytes:
    """Return the page: the answer, the picture, then the figures."""
    answered, chart = load_answer(report), load_chart(report)
    figures = tuple(table.figures() for table in answered.tables)
    return answer_page(
        "load test",
        answered,
        {"load.json": load_json(report)},
        title="Load test",
        skip="load test",
        charts=[chart] if chart else [],
        sections=[PageSection(title="Figures", anchor="figures", figures=figures)],
    )
