"""Measured sides in a notebook.

A gate's report in a notebook.
A job's history in a notebook.
Compared plans in a notebook.
A suite in a notebook.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.plan_comparison.comparison import THRESHOLD_PCT, Comparison
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.notebook.html.fragment import (
    data_table,
    fact_list,
    fragment,
    notice_list,
    paragraph,
)
from enginescope.records.suite.suite import SuiteResult
from enginescope.records.verdict.gate import GateReport, GateRow
from enginescope.records.verdict.history import JobHistory
from enginescope.render.base.answer_tables import AnswerTables
from enginescope.render.base.figures import TextTable
from enginescope.render.plan_comparison.compare_phrases import answer
from enginescope.render.plan_comparison.compare_tables import (
    Chosen,
    facts_table,
    pair_tables,
    share_tables,
)
from enginescope.render.suites.suite_answer import suite_answer, suite_tables
from enginescope.render.suites.suite_phrases import counts_sentence, options_sentence
from enginescope.render.verdicts.gate_phrases import (
    ROW_HEADERS,
    answer_text,
    details,
    row_cells,
    scope_facts,
    shown_notices,
)
from enginescope.render.verdicts.history_text import HEADERS, history_rows, span_text, title_text
from enginescope.render.verdicts.measured_section import evidence_text, pair_table, verdict_table
from enginescope.render.verdicts.ranking_text import ranking_table
from enginescope.render.verdicts.verdict_phrases import headline_sentence, value_text


def verdicts_html(found: MeasuredComparison) -> str:
    """Return each verdict as a sentence, its notices, and a table of all metrics."""
    names = " against ".join(f"{one.label} {one.name}" for one in found.sides)
    every, ranked = pair_table(found), ranking_table(found)
    tables = [*(verdict_table(one) for one in found.pairs), *([every] if every else [])]
    tables[:0] = [ranked] if ranked else []
    return fragment(
        names,
        *(paragraph(headline_sentence(one)) for one in found.pairs),
        paragraph(f"Evidence: {evidence_text(found)}."),
        notice_list([one for one in measured_notices(found) if one.level == "warning"]),
        *(
            data_table(one.title, one.headers, one.rows, numbers=one.numbers, note=one.note)
            for one in tables
        ),
    )


_NUMBERS = ("Baseline", "Current", "Old", "New", "Change", "Interval", "Limit")


def gate_html(report: GateReport) -> str:
    """Return the result, its scope, and every row with its reasons."""
    return fragment(
        answer_text(report),
        fact_list(scope_facts(report)),
        notice_list(report.notices),
        data_table(
            "Jobs",
            (*ROW_HEADERS, "Why"),
            ((*row_cells(row), _reasons(report, row)) for row in report.rows),
            numbers=_NUMBERS,
        ),
    )


def _reasons(report: GateReport, row: GateRow) -> str:
    notices = (f"{notice.message} ({notice.code})" for notice in shown_notices(report, row))
    return "; ".join((*details(row), *notices))


def answer_html(result: AnswerTables) -> str:
    """Return the answer, what it is about, and every table."""
    return fragment(
        result.answer,
        fact_list(result.facts),
        notice_list(result.notices),
        *(
            data_table(
                part.title,
                part.headers,
                (tuple(cell.replace("\n", "; ") for cell in row) for row in part.rows),
                numbers=part.numbers,
                note=part.note,
            )
            for part in result.tables
        ),
    )


def history_html(history: JobHistory) -> str:
    """Return the levels of a metric, and what changed between them."""
    levels = (
        (
            history.points[level.first].created[:10],
            history.points[level.last].created[:10],
            f"{level.last - level.first + 1:,}",
            value_text(history.metric, level.value),
        )
        for level in history.levels
    )
    changes = ((letter, text.replace("\n", "; ")) for letter, text in history_rows(history))
    return fragment(
        title_text(history),
        paragraph(span_text(history)),
        data_table(
            "Levels",
            ("first", "last", "points", "value"),
            levels,
            numbers=("points", "value"),
        ),
        data_table("Changes", HEADERS, changes),
    )


_TOP = 10


def comparison_html(found: Comparison) -> str:
    """Return the output, its notices, and the tables that `compare` prints."""
    names = " against ".join(f"{one.label} {one.name}" for one in found.overview.plans)
    warnings = [one for one in found.notices if one.level == "warning"]
    return fragment(
        names,
        paragraph(answer(found, THRESHOLD_PCT)),
        notice_list(warnings),
        *(
            data_table(one.title, one.headers, one.rows, numbers=one.numbers, note=one.note)
            for one in _tables(found)
        ),
    )


def _tables(found: Comparison) -> Iterator[TextTable]:
    if found.layers is not None:
        yield from pair_tables(found, Chosen(top=_TOP, threshold_pct=THRESHOLD_PCT), wide=True)
    yield facts_table(found.overview)
    yield from share_tables(found, _TOP)


#: Columns of text beyond which the terminal's tables would split; a notebook scrolls.
_WIDTH = 10_000


def suite_html(result: SuiteResult) -> str:
    """Return the count of cells by status, and the tables that `suite` prints."""
    answer = suite_answer(result)
    return fragment(
        f"{result.name}: {counts_sentence(result)}",
        paragraph(answer.fastest),
        paragraph(answer.failed),
        paragraph(options_sentence(result)),
        *(
            data_table(
                table.title,
                table.headers,
                (tuple(cell.replace("\n", "; ") for cell in row) for row in table.rows),
                numbers=table.numbers,
                note=f"and {table.left_out:,} more" if table.left_out else None,
            )
            for table in suite_tables(result, width=_WIDTH)
        ),
        notice_list(result.notices),
    )
