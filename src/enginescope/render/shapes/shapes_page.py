"""A sweep of shapes as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from enginescope.records.verdict.shapes import ShapesReport
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes
from enginescope.render.shapes.shapes_chart import shapes_charts
from enginescope.render.shapes.shapes_phrases import answer_text, build_command, scope_facts
from enginescope.render.shapes.shapes_writers import shapes_csv, shapes_json, shapes_tables


def shapes_page(report: ShapesReport, *, script_address: str | None = None) -> bytes:
    """Return the page: the answer and the curves, then shapes, changes and profiles.

    Args:
        script_address: See `page_bytes`.
    """
    answer = answer_text(report)
    charts = list(shapes_charts(report))
    files = {
        "shapes.json": shapes_json(report).decode(),
        "shapes.csv": shapes_csv(report).decode(),
    }
    return page_bytes(
        "shapes.html.j2",
        PageData(charts=charts_data(charts), files=files),
        script_address=script_address,
        title="Shapes",
        answer=f"{answer[:1].upper()}{answer[1:]}",
        facts=scope_facts(report),
        notices=report.notices,
        charts=charts,
        sections=[
            (one.title, one.title.split()[0].lower(), one.figures(one.note))
            for one in shapes_tables(report)
        ],
        command=build_command(report),
        left_out=[],
    )
