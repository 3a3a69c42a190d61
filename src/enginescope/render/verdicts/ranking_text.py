"""A ranking of measured sides: a sentence and a table."""

from __future__ import annotations

from itertools import groupby

from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.analysis.verdicts.ranking import RankedSide, ranking_of
from enginescope.judge.units import listed
from enginescope.render.base.data_table import UNKNOWN
from enginescope.render.base.figures import TextTable
from enginescope.render.verdicts.verdict_phrases import (
    interval_header,
    range_of,
    ratio_text,
    title_of,
    value_text,
)


def ranking_sentence(found: MeasuredComparison) -> str | None:
    """Return ``C is fastest, then A and B (tie), then D``; ``None`` without a ranking."""
    ranking = ranking_of(found)
    if ranking is None:
        return None
    groups = [
        [side.label for side in sides] for _, sides in groupby(ranking.sides, lambda one: one.rank)
    ]
    first, *others = groups
    verb = "is fastest" if len(first) == 1 else "tie for fastest"
    then = [f"then {listed(group)}{' (tie)' if len(group) > 1 else ''}" for group in others]
    text = ", ".join([f"{listed(first)} {verb}", *then])
    missing = [label for label, _ in ranking.left_out]
    return f"{text}; not ranked: {listed(missing)}" if missing else text


def ranking_table(found: MeasuredComparison) -> TextTable | None:
    """Return a row for each side, the best first; ``None`` without a ranking."""
    ranking = ranking_of(found)
    if ranking is None:
        return None
    first = ranking.sides[0]
    title = title_of(ranking.metric)
    interval = interval_header(side.estimate for side in ranking.sides)
    headers = ("rank", "side", title, f"÷ {first.label}", interval, "tied with")
    rows = [
        (
            str(side.rank),
            side.label,
            value_text(ranking.metric, side.value),
            "1" if side is first else ratio_text(side.estimate),
            UNKNOWN if side is first else range_of(side.estimate),
            _ties(side),
        )
        for side in ranking.sides
    ]
    rows += [(UNKNOWN, label, UNKNOWN, UNKNOWN, UNKNOWN, why) for label, why in ranking.left_out]
    return TextTable(
        title=f"{title}, the fastest first",
        headers=headers,
        rows=tuple(rows),
        numbers=(headers[0], *headers[2:5]),
        is_titled=True,
    )


def _ties(side: RankedSide) -> str:
    parts = [f"{label} (same)" for label in side.same]
    parts += [f"{label} (inconclusive)" for label in side.open]
    return ", ".join(parts)
