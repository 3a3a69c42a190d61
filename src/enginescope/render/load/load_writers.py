"""Writers of a load test: terminal, JSON, Markdown and a page."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.claims.percentile import note
from enginescope.core.record import replace
from enginescope.records.verdict.load import LoadReport
from enginescope.render.base.answer_tables import AnswerTables, answer_json, answer_markdown
from enginescope.render.base.figures import TextTable
from enginescope.render.base.text_table import table
from enginescope.render.html.answer_page import PageSection, answer_page
from enginescope.render.load.load_chart import load_chart
from enginescope.render.load.load_phrases import (
    FIGURE_HEADERS,
    PART_HEADERS,
    STEP_HEADERS,
    answer_text,
    loadgen_rows,
    part_rows,
    scope_facts,
    step_rows,
    times_text,
)

#: Version of the document's shape.
LOAD_SCHEMA = 1
_LATE = "late: the load generator was late (W-LATE)"


def load_answer(report: LoadReport) -> AnswerTables:
    """Return the answer, its facts and its tables; the last one has every run."""
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=tuple(_tables(report)),
        notices=report.notices,
    )


def _tables(report: LoadReport) -> Iterator[TextTable]:
    trial = report.trials[0]
    if report.loadgen is not None:
        rows: tuple[tuple[str, ...], ...] = loadgen_rows(report.loadgen, trial.latency)
        title = "Figures of the scenario, as LoadGen computes them"
        yield _table(title, FIGURE_HEADERS, rows, FIGURE_HEADERS[1:])
    if len(report.trials) == 1:
        title = "Latency and its parts; each percentile is of its own times"
        yield _table(title, PART_HEADERS, part_rows(trial), PART_HEADERS[1:])
    title = f"Each run: {times_text(report)}"
    is_late = any(trial.is_late for trial in report.trials)
    numbers = (*STEP_HEADERS[:1], *STEP_HEADERS[3:])
    made = _table(title, STEP_HEADERS, step_rows(report), numbers, _LATE if is_late else None)
    yield replace(made, whole=STEP_HEADERS[1:2])


def _table(
    title: str,
    headers: tuple[str, ...],
    rows: tuple[tuple[str, ...], ...],
    numbers: tuple[str, ...],
    more: str | None = None,
) -> TextTable:
    marked = note([cell for row in rows for cell in row])
    text = "; ".join(filter(None, (marked, more)))
    return TextTable(title=title, headers=headers, rows=rows, numbers=numbers, note=text or None)


def load_tables(report: LoadReport) -> RenderableType:
    """Return the table below the answer."""
    return Group(*_shown(report))


def _shown(report: LoadReport) -> Iterator[RenderableType]:
    first = next(_tables(report))
    yield table(first.headers, first.rows, right=first.numbers, whole=first.whole)
    if first.headers == STEP_HEADERS:
        yield Text(times_text(report), style="dim")
    if first.note:
        yield Text(first.note, style="yellow")


def load_markdown(report: LoadReport) -> bytes:
    """Return the answer, what it is about, and the tables."""
    return answer_markdown(load_answer(report))


def load_json(report: LoadReport) -> bytes:
    """Return the verdict, the answer and the whole report, as strict JSON."""
    return answer_json(
        LOAD_SCHEMA,
        passed=report.is_passed,
        verdict=report.kind,
        answer=answer_text(report),
        report=report,
    )


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
