"""Answers, a reproduction, a job's history and a suite in a notebook."""

from __future__ import annotations

from enginescope.notebook.html.fragment import (
    data_table,
    fact_list,
    fragment,
    notice_list,
    paragraph,
)
from enginescope.records.suite.suite import SuiteResult
from enginescope.records.verdict.history import JobHistory
from enginescope.render.base.answer_tables import AnswerTables
from enginescope.render.suites.suite_answer import (
    counts_sentence,
    options_sentence,
    suite_answer,
    suite_tables,
)
from enginescope.render.verdicts.history_text import HEADERS, history_rows, span_text, title_text
from enginescope.render.verdicts.verdict_phrases import value_text


def answer_html(result: AnswerTables) -> str:
    """Return the answer, what it is about, and every table."""
    return fragment(
        result.heading,
        fact_list((*result.facts, *result.more_facts)),
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
        *map(answer_html, result.parts),
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
            "Levels", ("first", "last", "points", "value"), levels, numbers=("points", "value")
        ),
        data_table("Changes", HEADERS, changes),
    )


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
            for table in suite_tables(result)
        ),
        notice_list(result.notices),
    )
