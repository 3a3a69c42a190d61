"""Measured sides in a notebook."""

from __future__ import annotations

from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.notebook.html.fragment import data_table, fragment, notice_list, paragraph
from enginescope.render.verdicts.verdict_phrases import headline_sentence
from enginescope.render.verdicts.verdict_tables import pair_table, verdict_table


def verdicts_html(found: MeasuredComparison) -> str:
    """Return each verdict as a sentence, what weakens it, and a table of all metrics."""
    names = " against ".join(f"{one.label} {one.name}" for one in found.sides)
    every = pair_table(found)
    tables = [*(verdict_table(one) for one in found.pairs), *([every] if every else [])]
    return fragment(
        names,
        *(paragraph(headline_sentence(one)) for one in found.pairs),
        notice_list([one for one in measured_notices(found) if one.level == "warning"]),
        *(
            data_table(one.title, one.headers, one.rows, numbers=one.numbers, note=one.note)
            for one in tables
        ),
    )
