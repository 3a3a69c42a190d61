"""Measured sides in a notebook."""

from __future__ import annotations

from enginescope.analysis.measured_notices import measured_notices
from enginescope.analysis.measured_sides import MeasuredComparison
from enginescope.render.notebook.fragment import data_table, fragment, notice_list, paragraph
from enginescope.render.verdict_phrases import headline_sentence
from enginescope.render.verdict_tables import verdict_table


def verdicts_html(found: MeasuredComparison) -> str:
    """Return each verdict as a sentence, what weakens it, and a table of all metrics."""
    names = " against ".join(f"{one.label} {one.name}" for one in found.sides)
    tables = [verdict_table(one) for one in found.pairs]
    return fragment(
        names,
        *(paragraph(headline_sentence(one)) for one in found.pairs),
        notice_list([one for one in measured_notices(found) if one.level == "warning"]),
        *(
            data_table(one.title, one.headers, one.rows, numbers=one.numbers, note=one.note)
            for one in tables
        ),
    )
