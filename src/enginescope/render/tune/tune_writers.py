"""Writers of a search for the fastest options: JSON, Markdown, CSV, page."""

from __future__ import annotations

from enginescope.records.verdict.tune import TuneReport
from enginescope.render.base.answer_tables import (
    AnswerTables,
    answer_json,
    answer_markdown,
    with_names_first,
)
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.charts.estimates import Estimate, estimate_chart
from enginescope.render.html.answer_page import tables_page
from enginescope.render.html.images import Chart
from enginescope.render.tune.tune_phrases import (
    WHY,
    alternative_table,
    answer_text,
    confirmation_table,
    label_of,
    out_table,
    scope_facts,
)

#: Version of the document's shape.
TUNE_SCHEMA = 1


def tune_answer(report: TuneReport, *, names_first: bool = True) -> AnswerTables:
    """Return the answer, its facts and its tables.

    Args:
        names_first: Names of alternatives are in the first column of their figures; else in the
            last, where a terminal has room for them.
    """
    figures = [confirmation_table(report), alternative_table(report)]
    tables = [part for part in figures if part is not None]
    out = out_table(report)
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=(
            *(map(with_names_first, tables) if names_first else tables),
            *((out,) if out is not None else ()),
        ),
        notices=report.notices,
    )


def tune_json(report: TuneReport) -> bytes:
    """Return the answer and the whole report as strict JSON."""
    return answer_json(TUNE_SCHEMA, answer=answer_text(report), report=report)


def tune_markdown(report: TuneReport) -> bytes:
    """Return the answer, what it is about, and the tables."""
    return answer_markdown(tune_answer(report))


def tune_csv(report: TuneReport) -> bytes:
    """Return a row for each alternative, with figures as numbers."""
    headers = (
        *("backend", "batch", "state", "value", "low", "high"),
        *("ratio", "ratio_low", "ratio_high", "rounds", "dropped_after", "why"),
    )
    rows = []
    for alternative in report.alternatives:
        interval, ratio = alternative.interval, alternative.ratio
        ends = ratio.interval if ratio is not None else None
        rows.append(
            (
                *(alternative.backend, alternative.batch, alternative.state, alternative.value),
                *((interval.low, interval.high) if interval else (None, None)),
                ratio.ratio if ratio is not None else None,
                *((ends.low, ends.high) if ends else (None, None)),
                *(alternative.rounds, alternative.dropped_after, alternative.why),
            )
        )
    return csv_bytes(headers, rows)


def tune_chart(report: TuneReport) -> Chart | None:
    """Return the alternatives against the default: in the search, and the leader's confirmation."""
    ratios = [
        (label_of(report, one), "search", one.ratio) for one in report.alternatives if one.ratio
    ]
    confirmed, leader = report.confirmation, report.leader
    if confirmed is not None and confirmed.ratio is not None and leader is not None:
        ratios.insert(0, (label_of(report, leader), "confirmation", confirmed.ratio))
    estimates = [
        Estimate(
            name=name,
            value=ratio.ratio,
            kind=kind,
            low=ratio.interval.low if ratio.interval else None,
            high=ratio.interval.high if ratio.interval else None,
        )
        for name, kind, ratio in ratios
    ]
    return estimate_chart(
        "tune_alternatives",
        "Alternatives against the default",
        estimates,
        axis=f"{report.metric} ÷ the default's",
        reference=1.0,
        lines="intervals",
    )


def tune_page(report: TuneReport) -> bytes:
    """Return the page: the answer with the confirmation, then the alternatives."""
    return tables_page(
        "tune",
        tune_answer(report),
        tune_json(report),
        title="Fastest options",
        chart=tune_chart(report),
        sentences=(WHY,),
    )
