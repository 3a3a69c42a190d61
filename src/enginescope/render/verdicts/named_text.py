"""Benchmarks of two files by name: a row each, the largest change first."""

from __future__ import annotations

from enginescope.judge.units import counted, signed_pct
from enginescope.records.verdict.named import NamedComparison, NamedVerdict
from enginescope.render.base.figures import UNKNOWN, TextTable
from enginescope.render.verdicts.verdict_phrases import kind_text, value_text

_HEADERS = ("benchmark", "A", "B", "change %", "verdict")


def named_table(found: NamedComparison) -> TextTable:
    """Return the table, with what is not in it in the note."""
    rows = sorted(found.rows, key=lambda row: -abs(row.change_pct or 0.0))
    others = (
        (found.without_figures, "without figures on a side"),
        (found.only_a, "only in A"),
        (found.only_b, "only in B"),
    )
    left = [f"{counted(len(names), 'benchmark')} {where}" for names, where in others if names]
    return TextTable(
        title="Benchmarks by name",
        headers=_HEADERS,
        rows=tuple(map(_row, rows)),
        numbers=_HEADERS[1:4],
        note="; ".join(left) or None,
    )


def _row(row: NamedVerdict) -> tuple[str, ...]:
    verdict, change = row.verdict, row.change_pct
    return (
        row.name,
        value_text(verdict.metric, verdict.a),
        value_text(verdict.metric, verdict.b),
        UNKNOWN if change is None else signed_pct(change),
        kind_text(verdict),
    )
