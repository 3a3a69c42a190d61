"""Every presenter of a record: its name, and the text or the document that it makes."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.suites.suite_row import pooled_figures, run_figures
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.notebook.html.measure import run_html
from enginescope.notebook.html.verdicts import answer_html, verdicts_html
from enginescope.records.run.run import Run
from enginescope.records.verdict.load import LoadReport
from enginescope.render.base.text import runs_table
from enginescope.render.base.text_table import as_text
from enginescope.render.charts.distribution import latency_boxes, latency_distribution, percentiles
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.compare.compare_writers import compare_json
from enginescope.render.html.images import Chart
from enginescope.render.load.load_chart import load_chart
from enginescope.render.load.load_phrases import answer_text
from enginescope.render.load.load_writers import (
    load_answer,
    load_json,
    load_markdown,
    load_page,
    load_tables,
)
from enginescope.render.page.export import (
    latency_percentiles_csv,
    report_json,
    summary_csv,
    summary_json,
)
from enginescope.render.page.markdown import report_markdown
from enginescope.render.page.page import report_page
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.verdicts.verdict_writers import verdict_csv, verdict_markdown, verdict_text
from tests.render.runs import measured_run
from tests.render.screen import summary_text

WIDE = 220


def of_run(run: Run) -> Iterator[tuple[str, Any]]:
    """Yield what each presenter makes of a run: text, or the rows and objects of a document."""
    view = RunView(run)
    both = (view, RunView(measured_run()))
    yield "terminal", flat(summary_text(view, width=80))
    yield "list", as_text(runs_table(both, width=WIDE), width=WIDE)
    yield "Markdown", report_markdown([view]).decode()
    yield "Markdown of two", report_markdown(both).decode()
    yield "page", words(report_page([view]).decode())
    yield "page of two", words(report_page(both).decode())
    yield "JSON", json.loads(report_json([view]))
    yield "JSON of figures", json.loads(summary_json([view]))
    yield "CSV", rows(summary_csv([view]))
    yield "CSV of percentiles", rows(latency_percentiles_csv([view]))
    yield "notebook", words(run_html(view))
    yield "suite row", [figures(run_figures(run))]
    yield "suite row of three", [figures(pooled_figures([run_figures(run)] * 3))]
    for chart in (percentiles(view), latency_distribution(view), latency_boxes([("a", view)])):
        if chart is not None:
            yield f"chart {chart.key}", chart_text(chart)


def of_load(report: LoadReport) -> Iterator[tuple[str, Any]]:
    """Yield what each presenter makes of a load test."""
    yield "terminal", f"{answer_text(report)}\n{as_text(load_tables(report), width=WIDE)}"
    yield "Markdown", load_markdown(report).decode()
    yield "page", words(load_page(report).decode())
    yield "JSON", json.loads(load_json(report))
    yield "notebook", words(answer_html(load_answer(report)))
    chart = load_chart(report)
    if chart is not None and not report.is_search:
        yield "chart", chart_text(chart)


def of_comparison(found: MeasuredComparison) -> Iterator[tuple[str, Any]]:
    """Yield what each presenter makes of a comparison."""
    yield "terminal", as_text(verdict_text(found, width=WIDE), width=WIDE)
    yield "Markdown", verdict_markdown(found)
    yield "page", words(compare_page(None, Chosen(), measured=found).decode())
    yield "notebook", words(verdicts_html(found))
    yield "JSON", json.loads(compare_json(None, Chosen(), measured=found))
    yield "CSV", rows(verdict_csv(found))


def figures(cells: Any) -> dict[str, Any]:
    """Return the figures of a suite's cell as a row of its CSV."""
    return {cell.metric: cell.value for cell in cells}


def rows(data: bytes) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def chart_text(chart: Chart) -> str:
    """Return a chart's words and its table."""
    table = (chart.table.headers, *chart.table.rows)
    return "\n".join((chart.title, *chart.subtitle, *(" | ".join(row) for row in table)))


def flat(text: str) -> str:
    """Return text with the line breaks of a narrow terminal taken out."""
    return " ".join(text.split())


def words(page: str) -> str:
    """Return the words of a page; a row of a table is a line."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"</t[hd]>", " | ", text)
    text = re.sub(r"</(tr|p|h\d|li|dd|div|figcaption|caption)>", "\n", text)
    return unescape(re.sub(r"<[^>]+>", "", text))
