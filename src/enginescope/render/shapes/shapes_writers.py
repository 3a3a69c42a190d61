"""Writers of a sweep of shapes: terminal, JSON, Markdown, CSV."""

from __future__ import annotations

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.shapes import ShapesReport
from enginescope.render.base.data_table import csv_bytes, escaped, markdown_row
from enginescope.render.base.figures import TextTable
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


def shapes_tables(report: ShapesReport) -> list[TextTable]:
    """Return the shapes, the costs of changes, and the profiles to build."""
    found = (shape_table(report), cost_table(report), profile_table(report))
    return [one for one in found if one is not None]


def shapes_json(report: ShapesReport) -> bytes:
    """Return the answer and the whole report as strict JSON."""
    return encode(
        {
            "schema": SHAPES_SCHEMA,
            "enginescope": __version__,
            "answer": answer_text(report),
            "build": build_command(report),
            "report": report,
        }
    )


def shapes_markdown(report: ShapesReport) -> bytes:
    """Return the answer, what it is about, and the tables."""
    lines = [f"### enginescope: {escaped(answer_text(report))}", ""]
    lines += [f"- {name}: {escaped(text)}" for name, text in scope_facts(report)]
    for part in shapes_tables(report):
        marks = ["---:" if name in part.numbers else "---" for name in part.headers]
        lines += ["", markdown_row(part.headers), markdown_row(marks)]
        lines += [markdown_row([escaped(cell) for cell in row]) for row in part.rows]
    if report.notices:
        lines += ["", *(f"- {escaped(one.message)} ({one.code})" for one in report.notices)]
    return ("\n".join(lines) + "\n").encode()


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
