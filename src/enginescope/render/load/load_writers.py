"""Writers of a load test: terminal, JSON, Markdown and a page."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.records.verdict.load import LoadReport
from enginescope.render.base.answer_tables import AnswerTables, answer_json, answer_markdown
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import percentile_name
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
    percentile_of,
    scope_facts,
    step_rows,
)

#: Version of the document's shape.
LOAD_SCHEMA = 1
_LATE = "* the load generator was late (W-LATE)"


def load_answer(report: LoadReport) -> AnswerTables:
    """Return the answer, its facts and its tables; the last one has every run."""
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=tuple(_tables(report)),
        notices=report.notices,
    )


def _tables(report: LoadReport) -> Iterator[TextTable]:
    if report.loadgen is not None:
        yield TextTable(
            title="Figures of the scenario, as LoadGen computes them",
            headers=FIGURE_HEADERS,
            rows=loadgen_rows(report.loadgen),
            numbers=FIGURE_HEADERS[1:],
        )
    if len(report.trials) == 1:
        yield TextTable(
            title="Latency and its parts; each percentile is of its own times",
            headers=PART_HEADERS,
            rows=part_rows(report.trials[0]),
            numbers=PART_HEADERS[1:],
        )
    yield TextTable(
        title=f"Each run: times are its {percentile_name(percentile_of(report))}, in ms",
        headers=STEP_HEADERS,
        rows=step_rows(report),
        numbers=(*STEP_HEADERS[:1], *STEP_HEADERS[3:]),
        whole=STEP_HEADERS[1:2],
        note=_LATE if any(trial.is_late for trial in report.trials) else None,
    )


def load_tables(report: LoadReport) -> RenderableType:
    """Return the table below the answer."""
    return Group(*_shown(report))


def _shown(report: LoadReport) -> Iterator[RenderableType]:
    first = next(_tables(report))
    yield table(first.headers, first.rows, right=first.numbers, whole=first.whole)
    if first.headers == STEP_HEADERS:
        name = percentile_name(percentile_of(report))
        yield Text(f"times: {name} of each run, in ms", style="dim")
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
