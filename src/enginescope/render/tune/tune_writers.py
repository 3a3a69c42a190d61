"""Writers of a search for the fastest options: JSON, Markdown, CSV, page."""

from __future__ import annotations

from msgspec.structs import replace

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.tune import TuneReport
from enginescope.render.base.answer_markdown import answer_markdown
from enginescope.render.base.answer_tables import AnswerTables
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.base.figures import TextTable
from enginescope.render.html.tables_page import tables_page
from enginescope.render.tune.tune_phrases import (
    WHY,
    alternative_table,
    answer_text,
    confirmation_table,
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
            *(map(_with_names_first, tables) if names_first else tables),
            *((out,) if out is not None else ()),
        ),
        notices=report.notices,
    )


def _with_names_first(one: TextTable) -> TextTable:
    rows = tuple((row[-1], *row[:-1]) for row in one.rows)
    return replace(one, headers=(one.headers[-1], *one.headers[:-1]), rows=rows)


def tune_json(report: TuneReport) -> bytes:
    """Return the answer and the whole report as strict JSON."""
    return encode(
        {
            "schema": TUNE_SCHEMA,
            "enginescope": __version__,
            "answer": answer_text(report),
            "report": report,
        }
    )


def tune_markdown(report: TuneReport) -> bytes:
    """Return the answer, what it is about, and the tables."""
    found = tune_answer(report)
    return answer_markdown(found.answer, found.facts, found.tables, found.notices)


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


def tune_page(report: TuneReport, *, script_address: str | None = None) -> bytes:
    """Return the page: the answer with the confirmation, then the alternatives.

    Args:
        script_address: See `page_bytes`.
    """
    return tables_page(
        "tune",
        tune_answer(report),
        tune_json(report),
        title="Fastest options",
        sentences=(WHY,),
        script_address=script_address,
    )
