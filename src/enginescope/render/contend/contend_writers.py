"""Writers of a contention test: JSON, Markdown, CSV, page."""

from __future__ import annotations

from enginescope.core.record import replace
from enginescope.judge.difference import NOT_DETECTED
from enginescope.judge.verdict import RatioEstimate, VerdictKind
from enginescope.records.verdict.contend import ContendReport
from enginescope.render.base.answer_tables import AnswerTables, answer_json, answer_markdown
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.charts.estimates import Estimate, estimate_chart
from enginescope.render.contend.contend_phrases import answer_text, contend_tables, scope_facts
from enginescope.render.html.answer_page import tables_page
from enginescope.render.html.images import Chart

#: Version of the document's shape.
CONTEND_SCHEMA = 1
_P99 = ("p99_slow_down", "p99_low", "p99_high")
CSV_HEADERS = ("contender", "beside", "slow_down", "low", "high", "verdict", *_P99)


def contend_answer(report: ContendReport) -> AnswerTables:
    """Return the answer, its facts and its tables."""
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=contend_tables(report),
        notices=report.notices,
    )


def contend_json(report: ContendReport) -> bytes:
    """Return the verdict, the answer and the whole report, as strict JSON."""
    answer = answer_text(report)
    return answer_json(CONTEND_SCHEMA, verdict=report.kind, answer=answer, report=report)


def contend_markdown(report: ContendReport) -> bytes:
    """Return the answer, what it is about, and the tables."""
    answered = contend_answer(report)
    notes = ((table.title.lower(), table.note or "") for table in answered.tables)
    return answer_markdown(replace(answered, facts=(*answered.facts, *notes)))


def contend_csv(report: ContendReport) -> bytes:
    """Return a row for each slow-down."""
    rows = (
        (
            slowed.contender,
            " ".join(slowed.beside),
            *_cells(slowed.factor),
            slowed.kind.value,
            *_cells(slowed.p99_factor),
        )
        for slowed in report.slow_downs
    )
    return csv_bytes(CSV_HEADERS, rows)


def _cells(estimate: RatioEstimate | None) -> tuple[float | None, ...]:
    """Return a ratio and the ends of its interval."""
    if estimate is None:
        return (None, None, None)
    ends = (estimate.interval.low, estimate.interval.high) if estimate.interval else (None, None)
    return (estimate.ratio, *ends)


def contend_chart(report: ContendReport) -> Chart | None:
    """Return every slow-down with its interval."""
    estimates = [
        Estimate(
            name=f"{slowed.contender} beside {', '.join(slowed.beside)}",
            value=slowed.factor.ratio,
            kind=NOT_DETECTED if slowed.kind is VerdictKind.SAME else slowed.kind.value,
            low=slowed.factor.interval.low if slowed.factor.interval else None,
            high=slowed.factor.interval.high if slowed.factor.interval else None,
        )
        for slowed in report.slow_downs
    ]
    return estimate_chart(
        "contend_slow_downs",
        "Mean latency beside others ÷ alone",
        estimates,
        axis="slow-down, ×",
        reference=1.0,
    )


def contend_page(report: ContendReport) -> bytes:
    """Return the page: the answer and the matrix, then throughput and latencies."""
    answered = contend_answer(report)
    return tables_page(
        "contend", answered, contend_json(report), title="Contention", chart=contend_chart(report)
    )
