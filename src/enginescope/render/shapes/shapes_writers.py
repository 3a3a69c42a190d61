"""Writers of a sweep of shapes: JSON, Markdown, CSV, page."""

from __future__ import annotations

from enginescope.core.record import replace
from enginescope.records.verdict.shapes import ShapesReport
from enginescope.render.base.answer_tables import AnswerTables, answer_json, answer_markdown
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.html.answer_page import answer_page, table_section
from enginescope.render.shapes.shapes_chart import shapes_charts
from enginescope.render.shapes.shapes_phrases import (
    answer_text,
    build_command,
    cost_table,
    profile_table,
    scope_facts,
    shape_table,
)

#: Version of the document's shape.
SHAPES_SCHEMA = 1


def shapes_answer(report: ShapesReport) -> AnswerTables:
    """Return the shapes, the costs of changes, and the profiles to build."""
    tables = (shape_table(report), cost_table(report), profile_table(report))
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=tuple(one for one in tables if one is not None),
        notices=report.notices,
    )


def shapes_json(report: ShapesReport) -> bytes:
    """Return the answer and the whole report as strict JSON."""
    build = build_command(report)
    return answer_json(SHAPES_SCHEMA, answer=answer_text(report), build=build, report=report)


def shapes_markdown(report: ShapesReport) -> bytes:
    """Return the answer, what it is about, and the tables."""
    return answer_markdown(shapes_answer(report))


def shapes_page(report: ShapesReport) -> bytes:
    """Return the page: the answer and the curves, then shapes, changes and profiles."""
    answered = shapes_answer(report)
    *others, last = (table_section(one, one.figures(one.note)) for one in answered.tables)
    return answer_page(
        "shapes",
        answered,
        {"shapes.json": shapes_json(report), "shapes.csv": shapes_csv(report)},
        title="Shapes",
        skip="shapes",
        charts=tuple(shapes_charts(report)),
        sections=[*others, replace(last, command=build_command(report))],
    )


def shapes_csv(report: ShapesReport) -> bytes:
    """Return a line for each shape, unrounded."""
    headers = (
        *("shape", "size", "items", "latency_ms", "low_ms", "high_ms", "items_per_s"),
        *("processes", "profile", "new_ms", "again_ms", "weight", "why"),
    )
    rows = []
    for level in report.levels:
        new, again = level.cost("new"), level.cost("again")
        ends = level.interval
        rows.append(
            (
                *(level.label, level.size, level.items, level.latency_ms),
                *(ends and ends.low, ends and ends.high, level.items_per_s, level.processes),
                *(level.profile, new and new.value_ms, again and again.value_ms),
                *(level.weight, level.why),
            )
        )
    return csv_bytes(headers, rows)
