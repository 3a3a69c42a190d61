"""Compared plans in a notebook."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.plan_comparison.comparison import THRESHOLD_PCT, Comparison
from enginescope.notebook.html.fragment import data_table, fragment, notice_list, paragraph
from enginescope.render.plan_comparison.compare_phrases import answer
from enginescope.render.plan_comparison.compare_tables import (
    Chosen,
    CompareTable,
    facts_table,
    pair_tables,
    share_tables,
)

_TOP = 10


def comparison_html(found: Comparison) -> str:
    """Return the answer, what weakens it, and the tables that `compare` prints."""
    names = " against ".join(f"{one.label} {one.name}" for one in found.overview.plans)
    warnings = [one for one in found.notices if one.level == "warning"]
    return fragment(
        names,
        paragraph(answer(found, THRESHOLD_PCT)),
        notice_list(warnings),
        *(_table(one) for one in _tables(found)),
    )


def _tables(found: Comparison) -> Iterator[CompareTable]:
    if found.layers is not None:
        yield from pair_tables(found, Chosen(top=_TOP, threshold_pct=THRESHOLD_PCT), wide=True)
    yield facts_table(found.overview)
    yield from share_tables(found, _TOP)


def _table(found: CompareTable) -> str:
    return data_table(
        found.title, found.headers, found.rows, numbers=found.numbers, note=found.note
    )
