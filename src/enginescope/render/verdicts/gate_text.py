"""A gate's rows on the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.records.verdict.gate import GateReport, GateRow
from enginescope.render.verdicts.gate_phrases import (
    UNLISTED,
    details,
    figures_sentence,
    shown_notices,
)

#: Columns of the table of rows.
HEADERS = ("result", "job")


def gate_rows(report: GateReport, *, everything: bool = False) -> tuple[tuple[str, str], ...]:
    """Return what is listed below `HEADERS`, the worst first.

    Args:
        everything: Jobs without regression too.
    """
    return tuple(
        (row.outcome.value, "\n".join(_lines(report, row)))
        for row in report.rows
        if everything or row.outcome not in UNLISTED
    )


def _lines(report: GateReport, row: GateRow) -> Iterator[str]:
    yield row.job
    figures = figures_sentence(row)
    if figures:
        yield figures
    yield from details(row)
    for notice in shown_notices(report, row):
        yield f"{'!' if notice.level == 'warning' else '·'} {notice.message} ({notice.code})"
