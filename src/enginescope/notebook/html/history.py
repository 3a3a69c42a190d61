"""A job's history in a notebook."""

from __future__ import annotations

from enginescope.notebook.html.fragment import data_table, fragment, paragraph
from enginescope.records.verdict.history import JobHistory
from enginescope.render.verdicts.history_phrases import span_text, title_text
from enginescope.render.verdicts.history_text import HEADERS, history_rows
from enginescope.render.verdicts.verdict_phrases import value_text


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
