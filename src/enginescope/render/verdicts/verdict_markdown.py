"""A comparison of measured sides as Markdown, for a pull request or a release note."""

from __future__ import annotations

from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredPair
from enginescope.render.base.facts import place_line
from enginescope.render.base.markdown_table import escaped, markdown_row
from enginescope.render.plan_comparison.compare_tables import CompareTable
from enginescope.render.verdicts.verdict_phrases import (
    headline_sentence,
    looks_text,
    title_of,
    why_text,
)
from enginescope.render.verdicts.verdict_tables import pair_table, verdict_table


def verdict_markdown(found: MeasuredComparison) -> str:
    """Return the answer, its table, and what weakens it."""
    lines = [f"- **{side.label}** {escaped(side.name)}" for side in found.sides]
    places = dict.fromkeys(place_line(run) for side in found.sides for run in side.runs)
    lines += [f"- on {escaped(place)}" for place in places if place]
    for pair in found.pairs:
        lines += [
            "",
            f"**{escaped(headline_sentence(pair))}**",
            "",
            *markdown_table(verdict_table(pair)),
        ]
        lines += _open(pair)
    every = pair_table(found)
    lines += ["", f"**{every.title}**", "", *markdown_table(every)] if every else []
    looks = looks_text(found)
    lines += ["", f"Measured in turn: {looks}."] if looks else []
    notices = [
        f"- {'**Warning:**' if notice.level == 'warning' else 'Note:'} {escaped(notice.message)} "
        f"({notice.code})"
        for notice in measured_notices(found)
    ]
    return "\n".join([*lines, *(["", *notices] if notices else [])]) + "\n"


def markdown_table(made: CompareTable) -> list[str]:
    """Return a table as lines."""
    marks = ["---:" if name in made.numbers else "---" for name in made.headers]
    headers = [escaped(name) for name in made.headers]
    return [
        markdown_row(headers),
        markdown_row(marks),
        *(markdown_row(list(map(escaped, row))) for row in made.rows),
    ]


def _open(pair: MeasuredPair) -> list[str]:
    found = [(title_of(verdict.metric), why_text(verdict)) for verdict in pair.verdicts]
    told = [f"- {title}: {escaped(why)}" for title, why in found if why]
    return ["", *told] if told else []
