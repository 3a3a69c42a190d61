"""A comparison of measured sides as Markdown, for a pull request or a release note."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.measured_notices import measured_notices
from enginescope.analysis.measured_sides import MeasuredComparison, MeasuredPair
from enginescope.render.compare_tables import CompareTable
from enginescope.render.facts import place_line
from enginescope.render.markdown import escaped
from enginescope.render.verdict_phrases import headline_sentence, looks_text, title_of, why_text
from enginescope.render.verdict_tables import verdict_table


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
    looks = looks_text(found)
    lines += ["", f"Measured in turn: {looks}."] if looks else []
    notices = [
        f"- {'**Warning:**' if one.level == 'warning' else 'Note:'} {escaped(one.message)} "
        f"({one.code})"
        for one in measured_notices(found)
    ]
    return "\n".join([*lines, *(["", *notices] if notices else [])]) + "\n"


def markdown_table(made: CompareTable) -> list[str]:
    """Return a table as lines."""
    marks = ["---:" if name in made.numbers else "---" for name in made.headers]
    headers = [escaped(name) for name in made.headers]
    return [_row(headers), _row(marks), *(_row(list(map(escaped, one))) for one in made.rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _open(pair: MeasuredPair) -> list[str]:
    found = [(title_of(one.metric), why_text(one)) for one in pair.verdicts]
    told = [f"- {title}: {escaped(why)}" for title, why in found if why]
    return ["", *told] if told else []
